import { createSocket, type Socket } from 'node:dgram'
import { familyOf } from '../base/ip-network.ts'
import { AccessRequest, type Question, type Said } from './request.ts'

/** Time below which no try is made: no server answers faster. */
const WORTH_MS = 5

export interface Target {
  readonly address: string
  readonly port: number
  readonly secret: string
}

export interface Patience {
  /** The time between two tries. */
  readonly attempt_ms: number
  readonly attempts: number
  /** The time for all tries. */
  readonly budget_ms: number
  readonly requireMessageAuthenticator: boolean
}

/**
 * `unreachable`: the network reports that there is no route or no listener. `forged` and `unprotected`: an answer came,
 * made with another secret, or without Message-Authenticator.
 */
export type Silence = 'silent' | 'unreachable' | 'forged' | 'unprotected'
export type Ending = Said | { readonly outcome: Silence }

/**
 * Asks one server. Each request has its own socket, and so a random port, connected to the server: the kernel passes on
 * only datagrams from there.
 */
export async function askServer(question: Question, target: Target, patience: Patience): Promise<Ending> {
  const socket = createSocket(familyOf(target.address) === 4 ? 'udp4' : 'udp6')
  try {
    if (!(await connected(socket, target))) return { outcome: 'unreachable' }
    const request = new AccessRequest(question, target.secret, socket.address().address)
    return await answered(socket, request, patience)
  } finally {
    socket.close()
  }
}

function connected(socket: Socket, { port, address }: Target): Promise<boolean> {
  return new Promise((resolve) => {
    socket.on('error', () => resolve(false))
    socket.connect(port, address, (error?: unknown) => resolve(error === undefined || error === null))
  })
}

function answered(socket: Socket, request: AccessRequest, patience: Patience): Promise<Ending> {
  const { port, address } = socket.remoteAddress()
  const until_ms = performance.now() + patience.budget_ms
  return new Promise((resolve) => {
    let silence: Silence = 'silent'
    let sent = 0
    let timer: NodeJS.Timeout | undefined
    const end = (ending: Ending) => {
      clearTimeout(timer)
      resolve(ending)
    }
    const unreachable = () => end({ outcome: silence === 'silent' ? 'unreachable' : silence })
    const send = () => {
      const left_ms = until_ms - performance.now()
      if (sent >= patience.attempts || left_ms < WORTH_MS) return end({ outcome: silence })
      sent += 1
      timer = setTimeout(send, Math.min(patience.attempt_ms, left_ms))
      socket.send(request.bytes, (error) => {
        if (error !== null) unreachable()
      })
    }
    socket.on('error', unreachable)
    socket.on('message', (datagram, from) => {
      // A datagram that arrived between the opening of the socket and its connection could come from any host.
      if (from.port !== port || from.address !== address) return
      const judged = request.judge(datagram)
      if (judged === undefined) return
      const { authenticity, said } = judged
      const isEnough = authenticity === 'genuine' || !patience.requireMessageAuthenticator
      if (said !== undefined && isEnough) end(said)
      else silence = authenticity === 'forged' ? 'forged' : 'unprotected'
    })
    send()
  })
}
