import { generateAccountSASQueryParameters, StorageSharedKeyCredential } from '@azure/storage-blob'
import { describe, expect, test } from 'vitest'
import { openStore } from '../../adapters/store/open-store.ts'
import { OperationError } from '../../core/model/operation-error.ts'
import { freePort } from '../daemon.ts'
import { startedStores } from './started-stores.ts'

// What a real server answers when something is wrong must never look like an empty store, and says what to do in a line.

type Environment = Readonly<Record<string, string>>

const bytes = new TextEncoder().encode('x')

const failuresOf = async (url: string, environment: Environment): Promise<readonly OperationError[]> => {
  const acts = ['read', 'list', 'write', 'delete'].map(async (act): Promise<unknown> => {
    const store = await openStore(url, { environment })
    if (act === 'read') return store.read('a')
    if (act === 'list') return store.list('')
    return act === 'write' ? store.write('a', bytes, 'absent') : store.delete('a')
  })
  const settled = await Promise.allSettled(acts)
  return settled.map((one) => {
    if (one.status === 'rejected' && one.reason instanceof OperationError) return one.reason
    throw one.status === 'rejected' ? one.reason : new Error(`no failure: ${JSON.stringify(one.value)}`)
  })
}

const secretsOf = (environment: Environment): readonly string[] =>
  Object.values(environment).filter((one) => one !== '')

const expectFailures = async (url: string, environment: Environment, code: string, says: RegExp): Promise<void> => {
  const store = url.replace(/\?.*/, '')
  for (const failure of await failuresOf(url, environment)) {
    expect(failure.message).toMatch(says)
    expect(failure.message).toMatch(/^Cannot (read|list|write to|delete from) [^\n]*: [^\n]*\. [^\n]*\.$/)
    expect(failure.message).toContain(store)
    for (const secret of secretsOf(environment)) expect(failure.message).not.toContain(secret)
    expect(failure.code).toBe(code)
  }
}

const others = startedStores().flatMap(({ name, url, environment }) =>
  url === undefined || name === 'folder' ? [] : [{ name, url: url('failures'), environment }],
)

const wrong = (environment: Environment): Environment =>
  'AZURE_STORAGE_KEY' in environment
    ? { AZURE_STORAGE_KEY: Buffer.from('another key, as long as any').toString('base64') }
    : { ...environment, AWS_SECRET_ACCESS_KEY: 'another-secret' }

describe.each(others)('$name', ({ url, environment }) => {
  test('without credentials', async () => {
    await expectFailures(url, {}, 'StoreCredentialsMissing', /there are no credentials.* Set A/)
  })

  test('with a wrong secret', async () => {
    await expectFailures(
      url,
      wrong(environment),
      'StoreDenied',
      /(the credentials are not accepted|access was denied) \(403 \w+\)\. [^\n]*[Cc]heck/,
    )
  })

  test('with a bucket that is not there', async () => {
    const elsewhere = url.replace('waypost-contract', 'not-there')
    await expectFailures(elsewhere, environment, 'StoreMissing', /there is no such (bucket|container)\. Create/)
  })

  test('with nobody at the port', async () => {
    const closed = url.replace(/(127\.0\.0\.1|localhost)%3A\d+/, `127.0.0.1%3A${await freePort()}`)
    await expectFailures(closed, environment, 'StoreAway', /the connection was refused \(http:\/\/127.*\)/)
  })

  test('with a host that is not there', async () => {
    const nowhere = url.replace(/(127\.0\.0\.1|localhost)%3A/, 'nowhere.invalid%3A')
    await expectFailures(nowhere, environment, 'StoreAway', /(no host has that name|the name service does not answer)/)
  })
})

describe('Azure Blob', () => {
  const azure = others.find(({ name }) => name === 'Azure Blob')
  if (azure === undefined) throw new Error('Azure Blob was not started')
  const { url, environment } = azure
  const endpoint = new URLSearchParams(url.split('?')[1]).get('endpoint') ?? ''
  const key = environment.AZURE_STORAGE_KEY ?? ''

  const sas = (expires: number): string =>
    generateAccountSASQueryParameters(
      {
        expiresOn: new Date(expires),
        startsOn: new Date(0),
        permissions: Object.assign(Object.create(null), { toString: () => 'rwdlac' }),
        resourceTypes: 'sco',
        services: 'b',
      },
      new StorageSharedKeyCredential('waypost', key),
    ).toString()

  test('takes a connection string', async () => {
    const connection = `DefaultEndpointsProtocol=http;AccountName=waypost;AccountKey=${key};BlobEndpoint=${endpoint};`
    const store = await openStore('azblob://waypost/waypost-contract/connection', {
      environment: { AZURE_STORAGE_CONNECTION_STRING: connection },
    })
    expect(await store.write('a', bytes, 'absent')).toMatchObject({ kind: 'written' })
    expect(await store.list('')).toEqual(['a'])
  })

  test.each(['', '?'])('takes a shared access signature, with or without %j before it', async (mark) => {
    const token = `${mark}${sas(Date.now() + 60_000)}`
    const store = await openStore(url, { environment: { AZURE_STORAGE_SAS_TOKEN: token } })
    expect(await store.write(`by-signature${mark.length}`, bytes, 'absent')).toMatchObject({ kind: 'written' })
    expect(await store.read(`by-signature${mark.length}`)).toMatchObject({ kind: 'found' })
  })

  test('says that a signature is over, without it', async () => {
    const token = sas(Date.now() - 60_000)
    const signature = new URLSearchParams(token).get('sig') ?? 'no signature'
    for (const failure of await failuresOf(url, { AZURE_STORAGE_SAS_TOKEN: token })) {
      expect(failure).toMatchObject({ code: 'StoreDenied' })
      expect(failure.message).not.toContain(signature)
      expect(failure.message).not.toContain(encodeURIComponent(signature))
    }
  })

  test.each([
    ['nonsense', /is no connection string/],
    [
      `DefaultEndpointsProtocol=http;AccountName=b;AccountKey=${key};BlobEndpoint=http://127.0.0.1/b;`,
      /is for another account/,
    ],
  ])('refuses another connection string, and does not repeat it', async (connection, says) => {
    const opening = openStore('azblob://waypost/c/p', { environment: { AZURE_STORAGE_CONNECTION_STRING: connection } })
    await expect(opening).rejects.toMatchObject({ code: 'StoreUrlInvalid', message: expect.stringMatching(says) })
    await expect(opening).rejects.not.toMatchObject({ message: expect.stringContaining(key) })
  })
})
