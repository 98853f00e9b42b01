import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../base/errors.ts'
import { addressText } from '../base/socket-address.ts'
import { GUARD } from '../cluster/places.ts'
import type { EtcdClient } from '../etcd/client.ts'
import { EtcdError } from '../etcd/errors.ts'
import { versionProblem } from '../etcd/version.ts'
import { haproxyPort, hostToListenAt, type NodeAddress } from './node-address.ts'

/**
 * Preconditions of a node, tested before it forms or joins a cluster: later, other nodes would already have been told.
 */
export interface EtcdGround {
  /** Returns what the program reports as its version; undefined if there is no etcd. */
  readonly says: () => Promise<string | undefined>
  /** Address of this node's peer port. */
  readonly listen: NodeAddress
}

/**
 * Refuses a node whose etcd would not start at this address.
 *
 * @throws {ApiError} NOT_SUPPORTED with what to install, INVALID_BODY with the problem of `address`.
 */
export async function assertGround({ says, listen }: EtcdGround, place: NodeAddress): Promise<void> {
  const said = await says()
  const problem = said === undefined ? NOT_THERE : versionProblem(said)
  if (problem !== undefined) throw new ApiError('NOT_SUPPORTED', `This node has no etcd for a cluster: ${problem}`)
  await assertFree(listen, 'for the peer API', 'start this daemon with another --peer')
  await assertEtcdPorts(place)
}

/** Refuses an address at which etcd or HAProxy could not listen; ports at the address `before` are their own. */
export async function assertEtcdPorts(place: NodeAddress, before?: NodeAddress): Promise<void> {
  const host = hostToListenAt(place)
  if (before !== undefined && hostToListenAt(before) === host && before.port === place.port) return
  for (const [port, whose] of [
    [place.port + 1, 'for clients of etcd'],
    [place.port + 2, 'for its members'],
    [haproxyPort(place), 'for stick tables shared between HAProxies'],
  ] as const)
    await assertFree({ host, port }, whose, 'choose another address')
}

const NOT_THERE = 'it is not installed; install the package etcd-server of Debian 13 (trixie) or later'
const HEALTHY_WITHIN_MS = 30_000
const AGAIN_MS = 100

async function assertFree(at: NodeAddress, whose: string, way: string): Promise<void> {
  const server = createServer()
  try {
    server.listen({ ...at, exclusive: true })
    await once(server, 'listening')
  } catch (error) {
    throw notFree(at, { whose, way }, String(Reflect.get(Object(error), 'code')))
  }
  const closed = once(server, 'close')
  server.close()
  await closed
}

function notFree(at: NodeAddress, { whose, way }: Readonly<Record<'whose' | 'way', string>>, why: string): ApiError {
  const [code, what] = REASONS[why] ?? ['PORT_REFUSED', `cannot be used for listening (${why})`]
  const next = code === 'PORT_TAKEN' ? `stop the program that listens there, or ${way}` : way
  const message = `${addressText(at)} ${what}; it is needed ${whose}; ${next}`
  return new ApiError('INVALID_BODY', `This node cannot be in a cluster at this address: ${message}`, {
    errors: [{ field: 'address', code, message }],
  })
}

const REASONS: Readonly<Record<string, readonly [code: string, what: string]>> = {
  EADDRINUSE: ['PORT_TAKEN', 'is taken'],
  EADDRNOTAVAIL: ['ADDRESS_NOT_HERE', 'is not an address of this node'],
  ENOTFOUND: ['ADDRESS_NOT_HERE', 'is an unknown host name'],
}

/** Resolves when etcd answers requests. */
export async function answers(etcd: Pick<EtcdClient, 'range'>): Promise<void> {
  const until_ms = performance.now() + HEALTHY_WITHIN_MS
  for (;;) {
    try {
      await etcd.range({ key: GUARD })
      return
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error
      if (performance.now() > until_ms) {
        throw new ApiError('NOT_SUPPORTED', `etcd was started but does not answer: ${error.message}`)
      }
    }
    await sleep(AGAIN_MS)
  }
}
