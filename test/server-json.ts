import * as z from 'zod'

// What the server.json schema of 2025-12-11 and the official registry demand of the entries that we write, said a second
// time and independently of the code that writes them.
const codePoints = (most: number) =>
  z
    .string()
    .min(1)
    .refine((text) => [...text].length <= most)
const extension = z.strictObject({
  status: z.literal('active'),
  tier: z.enum(['Official', 'Community']).optional(),
  tags: z.array(z.string().regex(/^[a-z0-9][a-z0-9_-]*[a-z0-9]$/)).optional(),
  tools: z
    .array(z.string().regex(/^[\w-]+$/))
    .refine((tools) => new Set(tools).size === tools.length)
    .optional(),
  tool_definitions: z.array(z.looseObject({ name: z.string() })).optional(),
  custom_metadata: z.strictObject({ group: z.string() }).optional(),
  metadata: z.strictObject({
    kubernetes: z.strictObject({
      kind: z.string(),
      namespace: z.string(),
      name: z
        .string()
        .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/)
        .optional(),
      uid: z.string().optional(),
      image: z.string().optional(),
    }),
  }),
})

export const serverJson = z.strictObject({
  $schema: z.string(),
  name: z
    .string()
    .max(200)
    .regex(/^[a-zA-Z0-9][a-zA-Z0-9.-]*[a-zA-Z0-9]\/[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]$/),
  title: codePoints(100).optional(),
  description: codePoints(100),
  version: z.string().min(1).max(255),
  icons: z
    .array(
      z.strictObject({
        src: z
          .string()
          .max(255)
          .regex(/^https:\/\/\S+$/),
      }),
    )
    .optional(),
  remotes: z
    .array(
      z.strictObject({
        type: z.enum(['streamable-http', 'sse']),
        url: z.string().regex(/^https?:\/\/[^\s]+$/),
        headers: z
          .array(
            z.strictObject({ name: z.string().regex(/^\S+$/), isRequired: z.literal(true), isSecret: z.literal(true) }),
          )
          .optional(),
      }),
    )
    .min(1),
  _meta: z.strictObject({
    'io.modelcontextprotocol.registry/publisher-provided': z.strictObject({
      'io.github.stacklok': z.record(z.string().regex(/^https?:/), extension),
    }),
  }),
})
