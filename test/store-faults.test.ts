import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openStore } from '../adapters/store/open-store.ts'
import { openR2Store, type R2Bucket } from '../adapters/store/r2.ts'
import type { BlobStore } from '../core/ports.ts'

// Servers that do what real ones do on bad days, and never when asked.

type Answer = (response: ServerResponse, request: IncomingMessage) => void
const bytes = new TextEncoder().encode('x')

let answers: Answer[] = []
let asked = 0
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    asked += 1
    const answer = answers.length > 1 ? answers.shift() : answers[0]
    answer?.(response, request)
  })
})
let endpoint = ''
beforeAll(async () => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  endpoint = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  asked = 0
})

const status =
  (code: number, body = '', headers: Readonly<Record<string, string>> = {}): Answer =>
  (response) =>
    response.writeHead(code, { 'content-length': String(Buffer.byteLength(body)), ...headers }).end(body)
const xml = (code: string): string => `<?xml version="1.0"?><Error><Code>${code}</Code><Message>no</Message></Error>`
const broken: Answer = (response) => response.destroy()
/** Announces more than it sends, then hangs up. */
const short: Answer = (response) => {
  response.writeHead(200, { 'content-length': '100', etag: '"e"', 'x-ms-blob-type': 'BlockBlob' })
  response.write('only this', () => setTimeout(() => response.destroy(), 20))
}
/** Does not say how much it will send: what is missing could not be told. */
const unannounced: Answer = (response) => {
  response.writeHead(200, { etag: '"e"' })
  response.end('perhaps all')
}

const openS3 = (): Promise<BlobStore> =>
  openStore(`s3://bucket/p?endpoint=${encodeURIComponent(endpoint)}`, {
    environment: { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'hush' },
  })
const openAzure = (): Promise<BlobStore> =>
  openStore(`azblob://account/container/p?endpoint=${encodeURIComponent(`${endpoint}/account`)}`, {
    environment: { AZURE_STORAGE_KEY: 'aHVzaA==' },
  })

describe('S3', () => {
  test.each([429, 503])('%i is tried again, and is no conflict', async (code) => {
    answers = [status(code, xml('SlowDown')), status(200, '', { etag: '"e"' })]
    expect(await (await openS3()).write('a', bytes, 'absent')).toEqual({ kind: 'written', etag: '"e"' })
    expect(asked).toBe(2)
  })

  test('a connection that breaks is tried again', async () => {
    answers = [broken, status(200, 'x', { etag: '"e"' })]
    expect(await (await openS3()).read('a')).toMatchObject({ kind: 'found', bytes })
  })

  test.each([
    ['409', { etag: '"e"' }, status(409, xml('ConditionalRequestConflict'))],
    ['409', 'absent', status(409, xml('OperationAborted'))],
    ['412', 'absent', status(412, xml('PreconditionFailed'))],
    ['412 without a word', { etag: '"e"' }, status(412)],
    ['404 of an object', { etag: '"e"' }, status(404, xml('NoSuchKey'))],
  ] as const)('%s is a lost race', async (_, expected, answer) => {
    answers = [answer]
    expect(await (await openS3()).write('a', bytes, expected)).toEqual({ kind: 'conflict' })
  })

  test.each([
    ['a page of a proxy', status(404, '<html>nothing here</html>'), 'StoreMissing'],
    ['404 without a word', status(404), 'StoreMissing'],
    ['a bucket that is gone', status(404, xml('NoSuchBucket')), 'StoreMissing'],
    ['a refusal', status(403, xml('AccessDenied')), 'StoreDenied'],
    ['another region', status(301, xml('PermanentRedirect')), 'StoreMissing'],
    ['a body that ends early', short, 'StoreAway'],
    ['an answer without an etag', status(200, 'x'), 'StoreUnsupported'],
    ['a body of unknown length', unannounced, 'StoreIncomplete'],
  ])('%s is a failure of a read, not an absence', async (_, answer, code) => {
    answers = [answer]
    await expect((await openS3()).read('a')).rejects.toMatchObject({ name: 'OperationError', code })
  })

  test('a refused read says that the object may just be missing', async () => {
    answers = [status(403, xml('AccessDenied'))]
    await expect((await openS3()).read('a')).rejects.toMatchObject({
      message:
        'Cannot read s3://bucket/p: access was denied (403 AccessDenied), which is also what a missing object gives without s3:ListBucket. Allow s3:GetObject, s3:PutObject and s3:DeleteObject on the objects and s3:ListBucket on the bucket.',
    })
  })

  test.each([
    ['a bucket that is gone', { etag: '"e"' }, status(404, xml('NoSuchBucket')), 'StoreMissing'],
    ['409 where any would do', 'any', status(409, xml('OperationAborted')), 'StoreFailed'],
    ['a write without an etag', 'any', status(200), 'StoreUnsupported'],
  ] as const)('%s is a failure of a write', async (_, expected, answer, code) => {
    answers = [answer]
    await expect((await openS3()).write('a', bytes, expected)).rejects.toMatchObject({ code })
  })

  test('a listing that is cut off without a way on is no listing', async () => {
    answers = [status(200, '<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>')]
    await expect((await openS3()).list('')).rejects.toMatchObject({ code: 'StoreIncomplete' })
  })

  test('what a server says cannot move a cursor', async () => {
    answers = [status(400, xml('Bad&#10;&#27;[31mCode'))]
    await expect((await openS3()).read('a')).rejects.toMatchObject({ message: expect.stringMatching(/^[ -~]+$/) })
  })
})

describe('Azure Blob', () => {
  const failing = (code: number, name: string): Answer => status(code, '', { 'x-ms-error-code': name })

  test('503 is tried again, and is no conflict', async () => {
    answers = [failing(503, 'ServerBusy'), status(201, '', { etag: '"e"' })]
    expect(await (await openAzure()).write('a', bytes, 'absent')).toEqual({ kind: 'written', etag: '"e"' })
  })

  test.each([
    ['a container that is gone', failing(404, 'ContainerNotFound'), 'StoreMissing'],
    ['404 without a word', status(404), 'StoreMissing'],
    ['a refusal', failing(403, 'AuthorizationPermissionMismatch'), 'StoreDenied'],
    ['an answer without an etag', status(200, 'x'), 'StoreFailed'],
  ])('%s is a failure of a read, not an absence', async (_, answer, code) => {
    answers = [answer]
    await expect((await openAzure()).read('a')).rejects.toMatchObject({ name: 'OperationError', code })
  })

  test('a body that ends early is a failure', async () => {
    answers = [short]
    await expect((await openAzure()).read('a')).rejects.toMatchObject({ name: 'OperationError' })
  })

  test('a container that is being deleted is no lost race', async () => {
    answers = [failing(409, 'ContainerBeingDeleted')]
    await expect((await openAzure()).write('a', bytes, 'absent')).rejects.toMatchObject({ code: 'StoreFailed' })
  })
})

describe('R2 binding', () => {
  const object = { key: 'a', etag: 'e', size: 1 }
  const openR2 = (bucket: Partial<R2Bucket>): BlobStore => {
    const unused = (): never => {
      throw new Error('not asked for')
    }
    return openR2Store(
      { get: unused, put: unused, list: unused, delete: unused, ...bucket },
      { binding: 'BUCKET', prefix: '' },
    )
  }

  test('too many writes of one object are tried again, and are no conflict', async () => {
    let calls = 0
    const put = async () => {
      calls += 1
      if (calls < 2) throw new Error('put: Reduce your concurrent request rate for the same object. (10058)')
      return object
    }
    expect(await openR2({ put }).write('a', bytes, 'absent')).toEqual({ kind: 'written', etag: 'e' })
    expect(calls).toBe(2)
  })

  test('what is refused for good is a failure at once', async () => {
    const get = async () => {
      throw new Error('get: The specified bucket does not exist. (10006)')
    }
    await expect(openR2({ get }).read('a')).rejects.toMatchObject({ name: 'OperationError', code: 'StoreMissing' })
  })

  test('a body that is shorter than its object is a failure', async () => {
    const get = async () => ({ ...object, size: 2, arrayBuffer: async () => new ArrayBuffer(1) })
    await expect(openR2({ get }).read('a')).rejects.toMatchObject({ code: 'StoreIncomplete' })
  })

  test('a listing that is cut off without a way on is no listing', async () => {
    const list = async () => ({ objects: [object], truncated: true })
    await expect(openR2({ list }).list('')).rejects.toMatchObject({ code: 'StoreIncomplete' })
  })
})
