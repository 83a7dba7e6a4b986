import { readdir, readFile, realpath, stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseAllDocuments } from 'yaml'
import type { ManifestDocument, Manifests } from '../../core/model/manifests.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import { yamlProblem } from '../../core/model/yaml-problem.ts'
import type { ReadManifests } from '../../core/ports.ts'

const MANIFEST = /\.(ya?ml|json)$/i

const parseYaml = (file: string, content: string): readonly ManifestDocument[] =>
  [...parseAllDocuments(content, { logLevel: 'error' })].map((parsed, index): ManifestDocument => {
    const document = index + 1
    const [error] = parsed.errors
    if (error !== undefined) return { kind: 'unreadable', file, document, problem: yamlProblem(error) }
    try {
      return { kind: 'read', file, document, value: parsed.toJS() }
    } catch {
      // Aliases are only followed here: one that leads nowhere, or a bomb of them, is refused now.
      return { kind: 'unreadable', file, document, problem: 'its aliases cannot be followed' }
    }
  })

/** Where JSON ends to be JSON; the words of the parser repeat the text, which may be a Secret. */
const jsonProblem = (thrown: unknown): string => {
  const place = /line (\d+) column (\d+)/.exec(thrown instanceof Error ? thrown.message : '')
  return place === null ? 'it is no JSON' : `it is no JSON at line ${place[1]}, column ${place[2]}`
}

/** JSON is YAML too, but a dump of a large cluster is read a hundred times faster as JSON. */
export const parseManifests = (file: string, content: string): readonly ManifestDocument[] => {
  const text = content.replace(/^\uFEFF/, '')
  if (!/^\s*[[{]/.test(text)) return parseYaml(file, text)
  try {
    return [{ kind: 'read', file, document: 1, value: JSON.parse(text) }]
  } catch (thrown) {
    const documents = parseYaml(file, text)
    const isJson = file.toLowerCase().endsWith('.json') && documents.length === 1 && documents[0]?.kind === 'unreadable'
    return isJson ? [{ kind: 'unreadable', file, document: 1, problem: jsonProblem(thrown) }] : documents
  }
}

/** Every manifest below a folder, but for hidden folders and node_modules: `--from .` must not read a whole work tree. */
const filesUnder = async (folder: string, seen: Set<string>): Promise<readonly string[]> => {
  const real = await realpath(folder)
  // A link back to a folder above would never end.
  if (seen.has(real)) return []
  seen.add(real)
  const files: string[] = []
  for (const name of (await readdir(folder)).sort()) {
    if (name.startsWith('.') || name === 'node_modules') continue
    const path = join(folder, name)
    if ((await stat(path)).isDirectory()) files.push(...(await filesUnder(path, seen)))
    else if (MANIFEST.test(name)) files.push(path)
  }
  return files
}

const readPath = async (path: string): Promise<Manifests> => {
  if (!(await stat(path)).isDirectory()) {
    const root = basename(path)
    return { root, documents: parseManifests(root, await readFile(path, 'utf8')) }
  }
  const documents: (readonly ManifestDocument[])[] = []
  for (const file of await filesUnder(path, new Set())) {
    documents.push(parseManifests(relative(path, file).split(sep).join('/'), await readFile(file, 'utf8')))
  }
  return { root: basename(path), documents: documents.flat() }
}

const isSystemError = (cause: unknown): cause is NodeJS.ErrnoException => cause instanceof Error && 'code' in cause

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  EACCES: 'permission denied',
  ELOOP: 'its links lead in a circle',
}

/** Reads a file, a folder with all below it, or `-` for standard input, as `kubectl get -A -o yaml` prints it. */
export const createManifestReader =
  (standardInput: NodeJS.ReadableStream): ReadManifests =>
  async (path) => {
    if (path === '-') return { root: '-', documents: parseManifests('-', await text(standardInput)) }
    try {
      return await readPath(path)
    } catch (cause) {
      const { code = '', path: place = path } = isSystemError(cause) ? cause : {}
      throw new OperationError(
        'ManifestsUnreadable',
        `Cannot read ${place}: ${REASONS[code] ?? (code || 'an unknown failure')}. Give --from a file, a folder or - for standard input.`,
        { cause },
      )
    }
  }
