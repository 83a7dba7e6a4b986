/** Bytes that nobody else changes. */
export type Bytes = Uint8Array<ArrayBuffer>
