import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePlace } from '../../http/listening.ts'
import { lockState } from '../state-lock.ts'
import { type NodePlace, peerPorts, plainPorts } from './places.ts'
import { reasonOf } from '../../base/reason.ts'

const LOOK_MS = 200
/** Nodes whose parent was killed end on their own, within a few seconds. */
const PATIENCE_MS = 60_000

/** Resolves when the folders are no longer in use; `waiting` is called once if one of them is. */
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

/**
 * Requires that the nodes' ports are free. At later starts an etcd may still run without its node, so the ports of etcd
 * and HAProxy are not checked.
 */
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

/** Returns a port that is free on every node; the preferred one if possible. */
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
