import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { after } from '../base/after.ts'
import { encodeMessage, readMessage } from './joining/messages.ts'
import { type PeerCredentials, secureOptionsOf, shownBy, STANDING_PROTOCOL } from './peer-tls.ts'

/**
 * The protocol by which a node that was away finds out that it was removed: all nodes lock it out, which looks like a
 * broken network. So it asks in a separate protocol, with the key that it always had, and learns the state of this key.
 */

/** A member's record of the holder of a key. */
export interface Standing {
  /** ISO 8601: the time since which it is no member. */
  readonly removedAt: string
  /** Whether it was asked to leave, and becomes a single node on its own. */
  readonly isLeaving: boolean
  /** Whether etcd has removed it. */
  readonly isOut: boolean
}

const TOLD_MAX = 1024
const PATIENCE_MS = 3_000

/** Answers as a member. A peer whose key is not that of a removed node gets no information. */
export function tellStanding(socket: TLSSocket, standingOf: (pin: string) => Standing | undefined): void {
  socket.on('error', () => undefined)
  const forget = after(PATIENCE_MS, () => socket.destroy())
  socket.once('close', forget)
  const shown = shownBy(socket)
  // The input is read to its end, so that the connection closes when the other side closes it.
  socket.resume()
  socket.end(encodeMessage((shown && standingOf(shown.pin)) ?? null))
}

export interface StandingParts {
  readonly at: { readonly host: string; readonly port: number }
  /** Id of the node that is asked. */
  readonly nodeId: string
  readonly pin: string
  readonly credentials: PeerCredentials
}

/**
 * Returns the asked node's record of this one; undefined without an answer. The asked node must present the key that
 * this node knows it by.
 */
export async function askStanding({ at, nodeId, pin, credentials }: StandingParts): Promise<Standing | undefined> {
  const socket = connect({
    ...secureOptionsOf(credentials),
    ...at,
    servername: '',
    ALPNProtocols: [STANDING_PROTOCOL],
    // After a removal other authorities certify the nodes. The key counts, and the right peer has it.
    rejectUnauthorized: false,
  })
  socket.on('error', () => undefined)
  const forget = after(PATIENCE_MS, () => socket.destroy(new Error('it reports nothing')))
  try {
    await once(socket, 'secureConnect')
    const shown = shownBy(socket)
    if (shown?.nodeId !== nodeId || shown.pin !== pin) return undefined
    return readStanding(await readMessage(socket, TOLD_MAX))
  } catch {
    return undefined
  } finally {
    forget()
    socket.destroy()
  }
}

function readStanding(told: unknown): Standing | undefined {
  const { removedAt, isLeaving, isOut } = Object(told) as Record<string, unknown>
  if (typeof removedAt !== 'string' || Number.isNaN(Date.parse(removedAt))) return undefined
  return { removedAt, isLeaving: isLeaving === true, isOut: isOut === true }
}
