/** Cost of following objects live: the same seconds for every tool, in simulated time. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../test/fixtures/traffic.ts'
import { METRIC_NAMES, valueAt } from './data-set.ts'
import { type FedObject, feedObjects } from './feed-objects.ts'
import { getText } from './http-queries.ts'
import type { StreamTalker } from './pipe-queries.ts'
import { diskBytes, privateBytes, runProgram, ServerProcess, writtenBytes } from './programs.ts'
import { labelBytes, seriesBytes, snappyBlock } from './remote-write.ts'
import { command, createCommand, startRrdtool, updateWord } from './rrd-files.ts'
import { RrdcachedServer } from './rrdcached.ts'

export interface FeedCost {
  readonly written_bytes: number
  readonly memory_bytes: number
}

export interface FeedSize {
  readonly objects: number
  readonly seconds: number
  readonly end_s: number
}

const FLUSH_EVERY_S = 300
/** A write touches the same pages in a ring of any length; short rings save gigabytes of empty ones. */
const RING_ROWS = 400
const SECONDS_PER_REQUEST = 10

export const samplesOf = ({ objects, seconds }: FeedSize) => objects * seconds * METRIC_NAMES.length

async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Feeds the archive with one transaction per second: every page goes into a write call of its own. */
export function feedArchive({ objects, seconds, end_s }: FeedSize): Promise<FeedCost> {
  return withFolder(async (folder) => {
    const script = fileURLToPath(new URL('feed-archive.ts', import.meta.url))
    const args = ['--expose-gc', '--disable-warning=ExperimentalWarning', script, folder]
    const numbers = [objects, seconds, end_s].map(String)
    const { status, stdout, stderr } = spawnSync(process.execPath, [...args, ...numbers], { encoding: 'utf8' })
    if (status !== 0) throw new Error(stderr)
    return JSON.parse(stdout) as FeedCost
  })
}

async function flushAll(talker: StreamTalker, folder: string): Promise<void> {
  await talker.ask('FLUSHALL\n')
  for (;;) {
    const statistics = (await talker.ask('STATS\n')).toString()
    if (/^QueueLength: 0$/m.test(statistics)) break
    await wait(50)
  }
  // The kernel would have written these pages long before the next flush: pages that become dirty again count again.
  await wait(200)
  await runProgram('sync', ['-f', folder])
}

/** Flushes rrdcached every 300 simulated seconds, the earliest that -w 300 -z 300 does. */
export function feedRrdcached(rrdtool: string, rrdcached: string, size: FeedSize): Promise<FeedCost> {
  return withFolder(async (folder) => {
    const { end_s, seconds } = size
    const objects = feedObjects(size.objects)
    const start_s = end_s - seconds
    const pipe = startRrdtool(rrdtool, folder)
    for (const { name } of objects) await command(pipe, createCommand(`${name}.rrd`, start_s, RING_ROWS))
    await pipe.stop()
    await runProgram('sync', ['-f', folder])
    const server = new RrdcachedServer(rrdcached, folder)
    try {
      const talker = await server.connect()
      const [written, memory] = [writtenBytes(server.pid), privateBytes(server.pid)]
      let peak = memory
      for (let second = start_s; second < end_s; second += 1) {
        const updates = objects.map((object) => `UPDATE ${object.name}.rrd ${updateWord(object, second)}`)
        await talker.ask('BATCH\n')
        const answer = (await talker.ask(`${updates.join('\n')}\n.\n`)).toString()
        if (!answer.startsWith('0 ')) throw new Error(`rrdcached: ${answer}`)
        if ((second + 1 - start_s) % FLUSH_EVERY_S !== 0) continue
        peak = Math.max(peak, privateBytes(server.pid))
        await flushAll(talker, folder)
      }
      return { written_bytes: writtenBytes(server.pid) - written, memory_bytes: peak - memory }
    } finally {
      await server.stop()
    }
  })
}

/** Sends remote writes of ten seconds each. Time runs faster than the servers' background writers expect. */
async function remoteWrite(url: string, { objects, seconds, end_s }: FeedSize): Promise<void> {
  const series = feedObjects(objects).flatMap((object: FedObject) =>
    METRIC_NAMES.map((name, metric) => ({
      object,
      metric,
      labels: labelBytes({ __name__: name, object: object.name }),
    })),
  )
  const headers = { 'Content-Encoding': 'snappy', 'Content-Type': 'application/x-protobuf' }
  for (let first = end_s - seconds; first < end_s; first += SECONDS_PER_REQUEST) {
    const parts = series.map(({ object, metric, labels }) => {
      const samples = Array.from({ length: SECONDS_PER_REQUEST }, (_, n) => {
        return { value: valueAt(object, metric, first + n), time_ms: (first + n) * 1_000 }
      })
      return seriesBytes(labels, samples)
    })
    const body = new Uint8Array(snappyBlock(Buffer.concat(parts)))
    const answer = await fetch(url, { method: 'POST', headers, body })
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  }
}

interface RemoteServer {
  readonly program: string
  readonly args: (folder: string, address: string) => readonly string[]
  readonly ready: string
  /** Path of a request that writes to disk what the server itself would write after some real seconds. */
  readonly flush: string
}

async function feedRemote({ program, args, ready, flush }: RemoteServer, size: FeedSize): Promise<FeedCost> {
  return withFolder(async (folder) => {
    const address = `127.0.0.1:${await freePort()}`
    const http = { origin: `http://${address}`, headers: {} }
    const server = new ServerProcess(program, args(folder, address))
    try {
      await server.until(() => getText(http, ready))
      const [written, memory] = [writtenBytes(server.pid), privateBytes(server.pid)]
      await remoteWrite(`${http.origin}/api/v1/write`, size)
      await getText(http, flush)
      const memory_bytes = privateBytes(server.pid) - memory
      const written_bytes = writtenBytes(server.pid) - written
      await server.stop()
      // Data that was still in memory is on the disk once the server has ended.
      return { written_bytes: Math.max(written_bytes, diskBytes(folder)), memory_bytes }
    } finally {
      await server.stop()
    }
  })
}

/** Prometheus writes its log continuously, so nothing needs to be flushed. */
export function feedPrometheus(program: string, size: FeedSize): Promise<FeedCost> {
  const args = (folder: string, address: string) => [
    '--config.file=/dev/null',
    '--web.enable-remote-write-receiver',
    `--web.listen-address=${address}`,
    `--storage.tsdb.path=${folder}`,
    '--log.level=error',
  ]
  return feedRemote({ program, args, ready: '/-/ready', flush: '/-/healthy' }, size)
}

export function feedVictoriaMetrics(program: string, size: FeedSize): Promise<FeedCost> {
  const args = (folder: string, address: string) => [
    `-httpListenAddr=${address}`,
    `-storageDataPath=${folder}`,
    '-loggerLevel=ERROR',
  ]
  return feedRemote({ program, args, ready: '/health', flush: '/internal/force_flush' }, size)
}
