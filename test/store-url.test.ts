import { describe, expect, test } from 'vitest'
import { openStore } from '../adapters/store/open-store.ts'
import { parseStoreUrl } from '../adapters/store/store-url.ts'

const problemOf = (url: string): unknown => {
  try {
    return parseStoreUrl(url)
  } catch (thrown) {
    return thrown
  }
}

describe('a store URL', () => {
  test.each([
    ['file:data', { scheme: 'file', path: 'data' }],
    ['file:../up/data', { scheme: 'file', path: '../up/data' }],
    ['file:/srv/a b', { scheme: 'file', path: '/srv/a b' }],
    ['file:///srv/a%20b', { scheme: 'file', path: '/srv/a b' }],
    ['memory:', { scheme: 'memory' }],
    ['s3://bucket', { scheme: 's3', bucket: 'bucket', prefix: '' }],
    ['s3://bucket/', { scheme: 's3', bucket: 'bucket', prefix: '' }],
    ['s3://my.bucket/a/b/', { scheme: 's3', bucket: 'my.bucket', prefix: 'a/b' }],
    [
      's3://bucket/a?endpoint=https://s3.example.com:9000/&region=eu-1',
      { scheme: 's3', bucket: 'bucket', prefix: 'a', endpoint: 'https://s3.example.com:9000', region: 'eu-1' },
    ],
    ['r2://BUCKET/a', { scheme: 'r2', binding: 'BUCKET', prefix: 'a' }],
    ['azblob://account/container', { scheme: 'azblob', account: 'account', container: 'container', prefix: '' }],
    [
      'azblob://a/c/p/q?endpoint=http%3A%2F%2F127.0.0.1%3A10000%2Fa',
      { scheme: 'azblob', account: 'a', container: 'c', prefix: 'p/q', endpoint: 'http://127.0.0.1:10000/a' },
    ],
  ])('%s', (url, parsed) => {
    expect(parseStoreUrl(url)).toEqual(parsed)
  })

  test.each([
    ['', /it is none that Waypost knows.*Use file:PATH/],
    ['bucket', /none that Waypost knows/],
    ['gs://bucket', /none that Waypost knows/],
    ['S3://bucket', /none that Waypost knows/],
    ['memory:x', /none that Waypost knows/],
    ['s3://bucket#a', /none that Waypost knows/],
    ['file:', /names no folder/],
    ['file:data?x=1', /takes no parameters/],
    ['file://host/data', /another host/],
    ['s3://', /names no bucket/],
    ['s3:///a', /names no bucket/],
    ['s3://../a', /cannot be the name of a bucket/],
    ['r2://', /names no binding/],
    ['azblob://account', /names no container/],
    ['azblob://account/', /names no container/],
    ['s3://bucket/a/../b', /prefix "a\/\.\.\/b"/],
    ['s3://bucket/./b', /prefix/],
    ['s3://bucket//b', /prefix/],
    ['s3://bucket/b//', /prefix/],
    ['s3://bucket/%2e%2e', /prefix/],
    ['s3://bucket/a\\b', /prefix/],
    ['s3://bucket/a b', /prefix/],
    ['r2://BUCKET/..', /prefix/],
    ['azblob://a/c/../d', /prefix/],
    ['s3://bucket/.locks', /prefix/],
    ['s3://bucket?regoin=eu', /parameter "regoin".*It takes endpoint and region/],
    ['azblob://a/c?region=eu', /parameter "region".*It takes endpoint/],
    ['r2://BUCKET?endpoint=https://x', /parameter "endpoint".*It takes none/],
    ['s3://bucket?region=a&region=b', /one value for region/],
    ['s3://bucket?region=', /one value for region/],
    ['s3://bucket?region=a%0Ab', /cannot be the name of a region/],
    ['s3://bucket?endpoint=s3.example.com', /endpoint is no address/],
    ['s3://bucket?endpoint=ftp://x', /endpoint is no address/],
    ['s3://bucket?endpoint=https://x/%3Fa=b', /endpoint is no address/],
  ])('%j is refused, with the URL, the cause and what to write', (url, says) => {
    expect(problemOf(url)).toMatchObject({
      name: 'OperationError',
      code: 'StoreUrlInvalid',
      message: expect.stringMatching(says),
    })
    expect(problemOf(url)).toHaveProperty('message', expect.stringMatching(/^[^\n]+\.$/))
  })

  test.each([
    's3://AKIAHUSH:hush@bucket/a',
    's3://bucket/a?endpoint=https://user:hush@host',
    's3://bucket/a?endpoint=https%3A%2F%2Fuser%3Ahush%40host',
    's3://bucket/a?secretAccessKey=hush',
    's3://bucket/a?X-Amz-Signature=hush',
    'azblob://a/c?sv=2024&sig=hush',
    'azblob://a/c?endpoint=https%3A%2F%2Fa%3Fsig%3Dhush',
    'DefaultEndpointsProtocol=https;AccountName=a;AccountKey=hush;',
    'https://bucket.example.com/?token=hush',
    'file://user:hush@host/data',
    'memory:?password=hush',
  ])('with a credential in it is refused and not repeated: %s', (url) => {
    const problem = problemOf(url)
    expect(problem).toMatchObject({ name: 'OperationError', code: 'StoreUrlInvalid' })
    expect(problem).toHaveProperty('message', expect.not.stringContaining('hush'))
  })

  test('opens nothing that is not bound', async () => {
    for (const bindings of [{}, { BUCKET: 'text' }, { BUCKET: { get: () => null } }]) {
      await expect(openStore('r2://BUCKET/a', { environment: {}, bindings })).rejects.toMatchObject({
        code: 'StoreUrlInvalid',
        message: expect.stringContaining('no R2 bucket bound as BUCKET'),
      })
    }
  })

  test('opens a store of its own each time it names memory', async () => {
    const [one, other] = [
      await openStore('memory:', { environment: {} }),
      await openStore('memory:', { environment: {} }),
    ]
    await one.write('a', new TextEncoder().encode('x'), 'absent')
    expect(await one.list('')).toEqual(['a'])
    expect(await other.list('')).toEqual([])
  })
})
