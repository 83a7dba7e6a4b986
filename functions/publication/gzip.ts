import type { Bytes } from '../../core/model/bytes.ts'

const through = async (bytes: Bytes, transform: CompressionStream | DecompressionStream): Promise<Bytes> => {
  const stream = new Blob([bytes]).stream().pipeThrough(transform)
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

export const gzip = (bytes: Bytes): Promise<Bytes> => through(bytes, new CompressionStream('gzip'))

/** Throws where the bytes are not gzip, or end early. */
export const gunzip = (bytes: Bytes): Promise<Bytes> => through(bytes, new DecompressionStream('gzip'))
