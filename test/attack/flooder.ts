/**
 * A separate thread that sends requests as fast as they are answered: the client measured beside it does not share its
 * event loop.
 */
import { once } from 'node:events'
import { Agent, request } from 'node:https'
import { readlinkSync } from 'node:fs'
import { basename } from 'node:path'
import { setPriority } from 'node:os'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { untilHolds } from '../fixtures/until.ts'

export interface Flood {
  readonly port: number
  readonly token: string
  readonly method: string
  readonly path: string
  readonly body?: object | undefined
  /** Number of connections. */
  readonly width: number
}

/** Number of answers by status; `CUT_OFF` counts closed connections. */
export type Statuses = ReadonlyMap<number, number>
export const CUT_OFF = 0

/** Starts the flood; the returned function ends it and returns the number of answers by status. */
export async function flooding(flood: Flood): Promise<() => Promise<Statuses>> {
  const worker = new Worker(new URL(import.meta.url), { workerData: { flood } })
  const failed = new Promise<never>((_, reject) => worker.once('error', reject))
  // It may fail while no call waits for it.
  failed.catch(() => undefined)
  await Promise.race([once(worker, 'message'), failed])
  return async () => {
    const told = once(worker, 'message') as Promise<[Statuses]>
    worker.postMessage('stop')
    const [statuses] = await Promise.race([told, failed])
    void worker.terminate()
    return statuses
  }
}

function asked({ port, token, method, path, body }: Flood, agent: Agent): Promise<number> {
  const raw = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(raw === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(raw) }),
  }
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: '127.0.0.1', port, method, path: `/api/v1${path}`, headers, agent }, (answer) => {
      answer.resume()
      answer.on('end', () => resolve(answer.statusCode ?? 0))
    })
    outgoing.on('error', (error) => {
      // The daemon closes idle connections, and requests that are too slow on a busy machine like this one.
      if (Reflect.get(error, 'code') === 'ECONNRESET') resolve(CUT_OFF)
      else reject(error)
    })
    outgoing.end(raw)
  })
}

async function run(flood: Flood): Promise<void> {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  const statuses = new Map<number, number>()
  let isOver = false
  const one = async () => {
    while (!isOver) {
      const status = await asked(flood, agent)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  const all = Promise.all(Array.from({ length: flood.width }, one))
  parentPort?.once('message', () => {
    isOver = true
    void all.then(() => parentPort?.postMessage(statuses))
  })
  // Only once it gets answers.
  await untilHolds(() => statuses.size > 0)
  parentPort?.postMessage('begun')
}

const given: { readonly flood?: Flood } | null = workerData
if (given?.flood !== undefined) {
  setPriority(Number(basename(readlinkSync('/proc/thread-self'))), 19)
  void run(given.flood)
}
