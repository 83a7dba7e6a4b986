import { spawnSync } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheFolder } from '../../infra/dev/cache-folder.ts'
import { answers, type Daemon, freePort, startDaemon, stopDaemons, until } from '../daemon.ts'
import type { StartedServer } from './provided.ts'

// A whole Ceph on the loopback: one mon, one osd that keeps all in memory, and the gateway that speaks S3.

const BUCKET = 'waypost-contract'

const unpack = (): string => {
  const folder = cacheFolder(`ceph-${process.env.CEPH_SUITE || 'forky'}`)
  const script = new URL('../../infra/dev/ceph.sh', import.meta.url).pathname
  const { status } = spawnSync('bash', [script, folder], { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error('Ceph could not be unpacked; the lines above say why')
  return folder
}

const configuration = (
  state: string,
  libraries: string,
  monPort: number,
  gatewayPort: number,
  fsid: string,
): string => `
[global]
fsid = ${fsid}
mon host = v2:127.0.0.1:${monPort}/0
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
auth cluster required = none
auth service required = none
auth client required = none
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon max pg per osd = 1000
run dir = ${state}
crash dir = ${state}
pid file = ${state}/$type.$id.pid
admin socket = ${state}/$type.$id.$pid.asok
log file = ${state}/$type.$id.log
mon cluster log file = ${state}/cluster.log
erasure code dir = ${libraries}/ceph/erasure-code
plugin dir = ${libraries}/ceph
osd class dir = ${libraries}/rados-classes
[mon.a]
mon data = ${state}/mon
mon initial members = a
paxos propose interval = 0.01
paxos min wait = 0.01
[osd.0]
osd data = ${state}/osd
osd objectstore = memstore
memstore device bytes = 2147483648
osd class load list = *
osd class default list = *
[client.rgw]
ms mon client mode = crc
rgw data = ${state}/rgw
rgw frontends = beast endpoint=127.0.0.1:${gatewayPort}
rgw run sync thread = false
rgw enable gc threads = false
rgw enable lc threads = false
rgw thread pool size = 64
`

export const startCeph = async (): Promise<StartedServer> => {
  const root = join(unpack(), 'root')
  const libraries = join(root, 'usr/lib/x86_64-linux-gnu')
  // With the libraries it was built for, and their own loader, it runs on any Linux.
  const loader = [join(libraries, 'ld-linux-x86-64.so.2'), '--library-path', `${libraries}:${libraries}/ceph`]
  const command = (tool: string, ...args: readonly string[]) => [...loader, join(root, 'usr/bin', tool), ...args]
  const run = (...line: Parameters<typeof command>): void => {
    const [file = '', ...args] = command(...line)
    const { status, stderr } = spawnSync(file, args, { encoding: 'utf8' })
    if (status !== 0) throw new Error(`${line[0]} failed: ${stderr.slice(-800)}`)
  }

  const state = mkdtempSync(join(tmpdir(), 'waypost-ceph-'))
  const daemons: Daemon[] = []
  const stop = async (): Promise<void> => {
    await stopDaemons(daemons)
    rmSync(state, { recursive: true, force: true })
  }
  try {
    for (const folder of ['mon', 'osd', 'rgw']) mkdirSync(join(state, folder))
    const [monPort, port] = [await freePort(), await freePort()]
    const fsid = randomUUID()
    const conf = join(state, 'ceph.conf')
    writeFileSync(conf, configuration(state, libraries, monPort, port, fsid))
    const daemon = (tool: string, ...args: readonly string[]): unknown =>
      daemons.push(startDaemon(tool, join(state, `${tool}.out`), command(tool, '-c', conf, '-f', ...args)))

    const [monmap, osdmap] = [join(state, 'monmap'), join(state, 'osdmap')]
    run('monmaptool', '--create', '--fsid', fsid, '--addv', 'a', `[v2:127.0.0.1:${monPort}]`, monmap)
    run('osdmaptool', '--createsimple', '1', osdmap)
    run('ceph-mon', '-c', conf, '--mkfs', '-i', 'a', '--monmap', monmap, '--osdmap', osdmap)
    daemon('ceph-mon', '-i', 'a')
    run('ceph-osd', '-c', conf, '-i', '0', '--mkfs', '--osd-uuid', randomUUID())
    daemon('ceph-osd', '-i', '0')
    const clusterLog = join(state, 'cluster.log')
    await until('the start of the osd', daemons, () => {
      return existsSync(clusterLog) && /osd\.0 .*boot/.test(readFileSync(clusterLog, 'utf8'))
    })
    daemon('radosgw', '-n', 'client.rgw')
    const endpoint = `http://127.0.0.1:${port}`
    await until('the start of the gateway', daemons, () => answers(endpoint))

    const environment = {
      AWS_ACCESS_KEY_ID: randomBytes(10).toString('hex').toUpperCase(),
      AWS_SECRET_ACCESS_KEY: randomBytes(20).toString('hex'),
    }
    const keys = [`--access-key=${environment.AWS_ACCESS_KEY_ID}`, `--secret-key=${environment.AWS_SECRET_ACCESS_KEY}`]
    run('radosgw-admin', '-c', conf, '-n', 'client.rgw', 'user', 'create', '--uid=t', '--display-name=t', ...keys)
    const { S3 } = await import('@aws-sdk/client-s3')
    const credentials = {
      accessKeyId: environment.AWS_ACCESS_KEY_ID,
      secretAccessKey: environment.AWS_SECRET_ACCESS_KEY,
    }
    const client = new S3({ endpoint, forcePathStyle: true, region: 'us-east-1', credentials })
    await client.createBucket({ Bucket: BUCKET })
    client.destroy()
    const query = `?endpoint=${encodeURIComponent(endpoint)}`
    return { stores: [{ name: 'S3 on Ceph', base: `s3://${BUCKET}`, query, environment }], stop }
  } catch (thrown) {
    await stop()
    throw thrown
  }
}
