import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePlace } from '../../http/listening.ts'
import { lockState } from '../state-lock.ts'
import { type NodePlace, peerPorts, plainPorts } from './places.ts'
import { reasonOf } from '../../base/reason.ts'

const LOOK_MS = 200
/** Nodes whose parent was killed end by themselves, in a few seconds. */
const PATIENCE_MS = 60_000

/** Resolves when nobody uses the folders any more; `waiting` is told once when somebody does. */
export async function unused(places: readonly NodePlace[], waiting: () => void): Promise<void> {
  const deadline_ms = performance.now() + PATIENCE_MS
  let isTold = false
  for (const { state } of places) {
    while (existsSync(join(state, 'lock'))) {
      try {
        lockState(state).release()
        break
      } catch (error) {
        if (performance.now() > deadline_ms) throw error
      }
      if (!isTold) waiting()
      isTold = true
      await sleep(LOOK_MS)
    }
  }
}

/** A node that is there already may have an etcd that runs on without it: its ports are its own. */
export async function assertFree(places: readonly NodePlace[], isFirst: boolean): Promise<void> {
  for (const { number, listen, http, metrics, peer } of places) {
    const { host } = listen
    const ports = isFirst ? peerPorts(peer) : [peer.port]
    for (const port of [listen.port, ...plainPorts({ http, metrics }), ...ports]) {
      try {
        await freePlace({ host, port })
      } catch (error) {
        const why = reasonOf(error)
        throw new Error(`node ${number} ${why}; choose other ports with --listen and --peer`, { cause: error })
      }
    }
  }
}

/** A port that is free at every node; the preferred one if it is. */
export async function portOfAll(places: readonly NodePlace[], preferred: number): Promise<number> {
  const isFree = (port: number) =>
    Promise.all(places.map(({ listen }) => freePlace({ host: listen.host, port }))).then(
      () => true,
      () => false,
    )
  let port = preferred
  while (!(await isFree(port))) ({ port } = await freePlace({ host: '127.0.0.1', port: 0 }))
  return port
}
