import { connect, createServer, type Socket } from 'node:net'

/** A way to a server on the loopback that can be shut and opened again: whoever comes meanwhile is refused. */
export type Relay = {
  readonly server: string
  readonly open: () => Promise<void>
  readonly shut: () => Promise<void>
}

export const createRelay = async (server: string): Promise<Relay> => {
  const target = Number(new URL(server).port)
  const sockets = new Set<Socket>()
  const relay = createServer((client) => {
    const upstream = connect(target, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      // Whoever was cut off learns it by the end of the other side.
      from.on('error', () => {})
      from.once('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
  })
  let port = 0
  const open = (): Promise<void> =>
    new Promise((resolve, reject) => {
      relay.once('error', reject)
      relay.listen(port, '127.0.0.1', () => {
        relay.off('error', reject)
        const address = relay.address()
        if (typeof address === 'object' && address !== null) port = address.port
        resolve()
      })
    })
  await open()
  return {
    server: `https://127.0.0.1:${port}`,
    open,
    shut: () =>
      new Promise((resolve) => {
        relay.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
