import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { after } from '../base/after.ts'
import { encodeMessage, readMessage } from './joining/messages.ts'
import { type PeerCredentials, secureOptionsOf, shownBy, STANDING_PROTOCOL } from './peer-tls.ts'

/**
 * How a node that was away finds out that it was removed: everybody locks it out, which looks as if the network were
 * cut. So it asks in a protocol of its own, with the key that it always had, and is told what became of this key.
 */

/** What a member knows of the holder of a key. */
export interface Standing {
  /** ISO 8601: since then it is no member. */
  readonly removedAt: string
  /** It was asked to leave, and becomes a single node by itself. */
  readonly isLeaving: boolean
  /** etcd has let it go. */
  readonly isOut: boolean
}

const TOLD_MAX = 1024
const PATIENCE_MS = 3_000

/** The side of a member. A peer whose key is not that of a removed node is told nothing. */
export function tellStanding(socket: TLSSocket, standingOf: (pin: string) => Standing | undefined): void {
  socket.on('error', () => undefined)
  const forget = after(PATIENCE_MS, () => socket.destroy())
  socket.once('close', forget)
  const shown = shownBy(socket)
  // It is read to its end, so that the connection closes when the other side does.
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
 * What that node says of this one; undefined where it says nothing, or is not there. Nobody else is believed: it has to
 * show the key that this node knows it by.
 */
export async function askStanding({ at, nodeId, pin, credentials }: StandingParts): Promise<Standing | undefined> {
  const socket = connect({
    ...secureOptionsOf(credentials),
    ...at,
    servername: '',
    ALPNProtocols: [STANDING_PROTOCOL],
    // After a removal other authorities certify the nodes. The key is what counts, and the answering peer has it.
    rejectUnauthorized: false,
  })
  socket.on('error', () => undefined)
  const forget = after(PATIENCE_MS, () => socket.destroy(new Error('it says nothing')))
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
