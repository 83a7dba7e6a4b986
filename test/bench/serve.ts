import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { isPointer } from '../../core/model/publication.ts'
import { answerList } from '../../functions/api/answers.ts'
import { createApi } from '../../functions/api/api.ts'
import { parseList } from '../../functions/api/parse-list.ts'
import { listen } from '../../functions/entry/node.ts'
import { createChunkCache } from '../../functions/publication/chunk-cache.ts'
import { readJson } from '../../functions/publication/objects.ts'
import { type OpenPublication, openPublication } from '../../functions/publication/open-publication.ts'
import { createReader } from '../../functions/publication/reader.ts'
import { clockAt } from '../clock.ts'
import { registryOf } from './registry-of.ts'

// What serving costs: against a bare node:http server that sends the same bytes and headers, and at 100,000 entries
// against 100. Ratios of one run.

const NAME = 'dev.stacklok.toolhive%2Fteam-007.server-7'
const REQUESTS = [
  { title: 'list of 50', path: '/v0.1/servers?limit=50&version=latest', isKnown: false },
  { title: 'latest', path: `/v0.1/servers/${NAME}/versions/latest`, isKnown: false },
  { title: '304', path: '/v0.1/servers?limit=50&version=latest', isKnown: true },
]

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0
const apiOver = async (count: number) => createApi(createReader(await registryOf(count), clockAt(Date.now)))

if (process.argv[2] === 'ours') {
  const { port } = await listen(await apiOver(1000), '127.0.0.1', 0)
  console.log(port)
} else if (process.argv[2] === 'bare') {
  // The same bytes and headers, found by asking our own once.
  const api = await apiOver(1000)
  const answers = new Map<string, { status: number; headers: Record<string, string>; bytes: Buffer }>()
  for (const { path, isKnown } of REQUESTS) {
    const etag = (await api.request(path)).headers.get('etag') ?? ''
    const answer = await api.request(path, { headers: isKnown ? { 'If-None-Match': etag } : {} })
    const bytes = Buffer.from(await answer.arrayBuffer())
    answers.set(`${isKnown} ${path}`, { status: answer.status, headers: Object.fromEntries(answer.headers), bytes })
  }
  const server = createServer((request, response) => {
    const answer = answers.get(`${request.headers['if-none-match'] !== undefined} ${request.url}`)
    if (answer === undefined) return response.writeHead(404).end()
    const length = answer.status === 304 ? {} : { 'content-length': answer.bytes.length }
    response.writeHead(answer.status, { ...answer.headers, ...length }).end(answer.bytes)
  })
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    console.log(typeof address === 'object' ? address?.port : '')
  })
} else {
  await compareWithBare()
  await compareSizes()
  await walk()
  process.exit(0)
}

/** On a core of its own, so that it is the server that is measured. */
async function start(kind: string) {
  const child = spawn('taskset', ['-c', '0', process.execPath, import.meta.filename, kind], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [port] = await once(createInterface({ input: child.stdout }), 'line')
  return { child, base: `http://127.0.0.1:${port}` }
}

function load(base: string, path: string, etag: string): number {
  const header = etag === '' ? [] : ['-H', `If-None-Match: ${etag}`]
  const { stdout } = spawnSync('taskset', ['-c', '1', 'wrk', '-t1', '-c32', '-d2s', ...header, `${base}${path}`], {
    encoding: 'utf8',
  })
  return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1] ?? 0)
}

async function compareWithBare(): Promise<void> {
  const hasWrk = (): boolean => spawnSync('wrk', ['-v']).error === undefined
  if (!hasWrk()) {
    console.log('wrk is not here: installing the Debian package, once')
    for (const step of [['update'], ['install', '-y', 'wrk']]) spawnSync('apt-get', step, { stdio: 'ignore' })
  }
  if (!hasWrk()) return console.log('serve: NOT measured against a bare server, since wrk cannot be installed here')
  const [ours, bare] = [await start('ours'), await start('bare')]
  try {
    for (const { title, path, isKnown } of REQUESTS) {
      const etag = isKnown ? ((await fetch(`${ours.base}${path}`)).headers.get('etag') ?? '') : ''
      const rates = { ours: [] as number[], bare: [] as number[] }
      for (let round = 0; round < 5; round++) {
        rates.ours.push(load(ours.base, path, etag))
        rates.bare.push(load(bare.base, path, etag))
      }
      const ratio = median(rates.ours) / median(rates.bare)
      console.log(
        `serve ${title}: ${median(rates.ours).toFixed(0)}/s, bare node:http ${median(rates.bare).toFixed(0)}/s, ratio ${ratio.toFixed(2)} (wrk, median of 5), budget 0.8: ${ratio >= 0.8 ? 'within' : 'BELOW'}`,
      )
    }
  } finally {
    for (const { child } of [ours, bare]) child.kill('SIGKILL')
  }
}

async function opened(count: number): Promise<OpenPublication> {
  const store = await registryOf(count)
  const pointer = await readJson(store, 'default/current.json', isPointer)
  return openPublication(store, createChunkCache(1024 * 1024 * 1024), 'default', pointer?.value.publication ?? '')
}

/** Milliseconds for one page, made anew each time. */
async function timePages(publication: OpenPublication, query: string, rounds: number): Promise<number> {
  const request = parseList(new URLSearchParams(query))
  if (request.kind === 'problem') throw new Error(request.detail)
  const began = process.cpuUsage()
  for (let round = 0; round < rounds; round++) await answerList(publication, request)
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1000 / rounds
}

/** A cursor that leads to the page after this share of the entries. */
async function cursorAt(publication: OpenPublication, share: number): Promise<string> {
  const { columns } = publication
  const { nameOf } = await import('../../core/model/columns.ts')
  const { encodeCursor } = await import('../../functions/api/cursor.ts')
  const row = Math.min(columns.count - 51, Math.floor(columns.count * share))
  return encodeCursor({ parameters: { version: 'latest' }, after: { name: nameOf(columns, row), version: '' } })
}

async function compareSizes(): Promise<void> {
  const [small, large] = [await opened(100), await opened(100_000)]
  for (const [place, share] of [
    ['first', 0],
    ['middle', 0.5],
    ['last', 1],
  ] as const) {
    const cursors = [await cursorAt(small, share), await cursorAt(large, share)]
    const query = (cursor = ''): string =>
      share === 0 ? 'limit=50&version=latest' : `limit=50&version=latest&cursor=${cursor}`
    const times = { small: [] as number[], large: [] as number[] }
    for (let round = 0; round < 7; round++) {
      times.small.push(await timePages(small, query(cursors[0]), 2000))
      times.large.push(await timePages(large, query(cursors[1]), 2000))
    }
    const ratio = median(times.large) / median(times.small)
    console.log(
      `${place} page at 100,000 entries ${(median(times.large) * 1000).toFixed(0)} µs, at 100 ${(median(times.small) * 1000).toFixed(0)} µs: ratio ${ratio.toFixed(2)}, budget 1.3: ${ratio <= 1.3 ? 'within' : 'OVER'}`,
    )
  }
  const common = await timePages(large, 'search=server+tickets', 20)
  const rare = await timePages(large, 'search=server-99999', 20)
  const worst = Math.max(common, rare)
  console.log(
    `search of 100,000: common words ${common.toFixed(1)} ms, a rare one ${rare.toFixed(1)} ms of CPU, budget 20: ${worst <= 20 ? 'within' : 'OVER'}`,
  )
}

/** As thv does it where a page may have one server. */
async function walk(): Promise<void> {
  const api = await apiOver(1000)
  const began = performance.now()
  let [count, cursor] = [0, '']
  for (;;) {
    const answer = await api.request(`/v0.1/servers?limit=1&version=latest${cursor}`)
    const { servers, metadata } = JSON.parse(await answer.text())
    count += servers.length
    if (metadata.nextCursor === undefined) break
    cursor = `&cursor=${metadata.nextCursor}`
  }
  console.log(`walk of ${count} servers one by one: ${(performance.now() - began).toFixed(0)} ms`)
}
