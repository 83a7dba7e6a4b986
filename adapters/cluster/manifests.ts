import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseAllDocuments } from 'yaml'
import { OperationError } from '../../core/model/operation-error.ts'
import { printable } from '../../core/model/printable.ts'
import type { ManifestDocument, Manifests, ReadManifests } from '../../core/ports.ts'

const MANIFEST = /\.(ya?ml|json)$/i

const firstLine = (problem: unknown): string =>
  printable((problem instanceof Error ? problem.message : String(problem)).split('\n')[0] ?? '', 160).replace(
    /[.:]+$/,
    '',
  )

const parseYaml = (file: string, content: string): readonly ManifestDocument[] => {
  return [...parseAllDocuments(content, { logLevel: 'error' })].map((parsed, index): ManifestDocument => {
    const document = index + 1
    const [error] = parsed.errors
    if (error !== undefined) return { kind: 'unreadable', file, document, problem: firstLine(error) }
    try {
      return { kind: 'read', file, document, value: parsed.toJS() }
    } catch (thrown) {
      // Aliases are only followed here: a bomb of them is refused now.
      return { kind: 'unreadable', file, document, problem: firstLine(thrown) }
    }
  })
}

/** JSON is YAML too, but a dump of a large cluster is read some fifty times faster as JSON. */
export const parseManifests = (file: string, content: string): readonly ManifestDocument[] => {
  if (/^\s*[[{]/.test(content)) {
    try {
      return [{ kind: 'read', file, document: 1, value: JSON.parse(content) }]
    } catch (thrown) {
      if (file.toLowerCase().endsWith('.json'))
        return [{ kind: 'unreadable', file, document: 1, problem: firstLine(thrown) }]
    }
  }
  return parseYaml(file, content)
}

/** Every manifest below a folder, but for hidden folders and node_modules: `--from .` must not read a whole work tree. */
const filesUnder = async (folder: string): Promise<readonly string[]> => {
  const files: string[] = []
  for (const name of (await readdir(folder)).sort()) {
    if (name.startsWith('.') || name === 'node_modules') continue
    const path = join(folder, name)
    if ((await stat(path)).isDirectory()) files.push(...(await filesUnder(path)))
    else if (MANIFEST.test(name)) files.push(path)
  }
  return files
}

const readPath = async (path: string): Promise<Manifests> => {
  if (!(await stat(path)).isDirectory()) {
    const root = basename(path)
    return { root, documents: parseManifests(root, await readFile(path, 'utf8')) }
  }
  const documents: ManifestDocument[] = []
  for (const file of await filesUnder(path)) {
    documents.push(...parseManifests(relative(path, file).split(sep).join('/'), await readFile(file, 'utf8')))
  }
  return { root: basename(path), documents }
}

/** Reads a file, a folder with all below it, or `-` for standard input, as `kubectl get -A -o yaml` prints it. */
export const createManifestReader =
  (standardInput: NodeJS.ReadableStream): ReadManifests =>
  async (path) => {
    if (path === '-') return { root: '-', documents: parseManifests('-', await text(standardInput)) }
    try {
      return await readPath(path)
    } catch (cause) {
      const reason =
        cause instanceof Error && 'code' in cause && cause.code === 'ENOENT' ? 'it does not exist' : firstLine(cause)
      throw new OperationError(
        'ManifestsUnreadable',
        `Cannot read ${path}: ${reason}. Give --from a file, a folder or - for standard input.`,
        { cause },
      )
    }
  }
