import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { until } from '../daemon.ts'
import type { Admin, KubeObject } from './admin.ts'

export type Crd = KubeObject & {
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly group: string
    readonly scope: string
    readonly names: { readonly kind: string; readonly plural: string }
    readonly versions: readonly {
      readonly name: string
      readonly served: boolean
      readonly storage: boolean
      readonly deprecated?: boolean
      readonly subresources?: { readonly status?: object }
    }[]
  }
}

const API = 'apiextensions.k8s.io/v1'
const CRDS = 'customresourcedefinitions'

const readCrds = (folders: readonly string[]): readonly Crd[] =>
  folders.flatMap((folder) =>
    readdirSync(folder).flatMap((file) =>
      parseAllDocuments(readFileSync(join(folder, file), 'utf8')).map((document): Crd => {
        if ('errors' in document && document.errors[0] !== undefined) throw document.errors[0]
        return document.toJS()
      }),
    ),
  )

/** Small ones of the project, which take any field and fill in none. */
export const ownCrds = (): readonly Crd[] => readCrds([new URL('crds', import.meta.url).pathname])

/** Those that ToolHive and the Gateway API ship, where they are at hand. The project has no copy of them. */
export const realCrds = (): readonly Crd[] | undefined => {
  const data = new URL('../../../shared/data/', import.meta.url).pathname
  const folders = ['toolhive-crds', 'gateway-crds'].map((name) => join(data, name))
  return folders.every((folder) => existsSync(folder)) ? readCrds(folders) : undefined
}

const isEstablished = async (admin: Admin, { metadata: { name } }: Crd): Promise<boolean> => {
  const { status, text } = await admin.request('GET', `/apis/${API}/${CRDS}/${name}`)
  if (status !== 200) throw new Error(`${name}: ${status} ${text.slice(0, 500)}`)
  const kept: { status?: { conditions?: readonly { type: string; status: string }[] } } = JSON.parse(text)
  return kept.status?.conditions?.some((one) => one.type === 'Established' && one.status === 'True') === true
}

/** In the list of groups, in that of the group, and itself: they follow one another, each by its own controller. */
const isServed = async (admin: Admin, apiVersion: string, plural: string): Promise<boolean> => {
  const [groups, resources, objects] = await Promise.all(
    ['/apis', `/apis/${apiVersion}`, `/apis/${apiVersion}/${plural}?limit=1`].map((path) => admin.request('GET', path)),
  )
  return (
    groups?.text.includes(`"groupVersion":"${apiVersion}"`) === true &&
    resources?.text.includes(`"name":"${plural}"`) === true &&
    objects?.status === 200
  )
}

export const installCrd = async (admin: Admin, crd: Crd): Promise<void> => {
  const { name } = crd.metadata
  await admin.create(API, CRDS, crd)
  await until(`the establishment of ${name}`, [], () => isEstablished(admin, crd))
  for (const { name: version } of crd.spec.versions.filter(({ served }) => served))
    await until(`the serving of ${name} in ${version}`, [], () =>
      isServed(admin, `${crd.spec.group}/${version}`, crd.spec.names.plural),
    )
}

/**
 * The real ones where they are at hand, else, or with TEST_CRDS=own, those of the project. Kubernetes 1.20 drops the CEL
 * rules of the real ones without a word, and keeps their schemas and defaults.
 */
export const installCrds = async (admin: Admin): Promise<void> => {
  const crds = (process.env.TEST_CRDS === 'own' ? undefined : realCrds()) ?? ownCrds()
  await Promise.all(crds.map((crd) => installCrd(admin, crd)))
}
