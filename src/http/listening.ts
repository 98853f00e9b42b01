import { connect } from 'node:net'
import {
  App,
  type TemplatedApp,
  type us_listen_socket,
  us_listen_socket_close,
  us_socket_local_port,
} from 'uWebSockets.js'

/** Missing in the package's types. */
const LIBUS_LISTEN_SHARED_PORT = 0
const LIBUS_LISTEN_EXCLUSIVE_PORT = 1
interface ListeningWithOptions {
  listen(host: string, port: number, options: number, callback: (socket: us_listen_socket | false) => void): unknown
}

export interface Place {
  readonly host: string
  readonly port: number
}

/** Listens on a port that other listeners of this process may share. */
export function openSocket(
  app: TemplatedApp,
  { host, port }: Place,
  options = LIBUS_LISTEN_SHARED_PORT,
): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    const listening = app as TemplatedApp & ListeningWithOptions
    listening.listen(host, port, options, (socket: us_listen_socket | false) => {
      if (socket !== false) resolve(socket)
      else reject(new Error(`cannot listen on ${host}:${port}: the address is in use or not on this machine`))
    })
  })
}

/**
 * Resolves with the address if its port is free now. Rejects if another process listens there: the port would silently
 * be shared with it. Port 0 becomes a port that the system chooses, because only a port with a number can be shared.
 */
export async function freePlace(place: Place): Promise<Place> {
  const socket = await openSocket(App(), place, LIBUS_LISTEN_EXCLUSIVE_PORT)
  const port = us_socket_local_port(socket)
  stopListening(socket)
  return { host: place.host, port }
}

/**
 * Listens on a named socket that other accounts can never open: uSockets gives it the mode 0700 before it is bound.
 * Takes over a socket file that a crashed daemon has left.
 */
export function openLocalSocket(app: TemplatedApp, path: string): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    app.listen_unix((socket: us_listen_socket | false) => {
      if (socket !== false) resolve(socket)
      else reject(new Error(`cannot listen on ${path}`))
    }, path)
  })
}

/** Returns whether a process listens on this socket. */
export function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = connect(path)
    const told = (isTaken: boolean) => {
      probe.destroy()
      resolve(isTaken)
    }
    probe.once('connect', () => told(true))
    probe.once('error', () => told(false))
  })
}

/** Open connections continue. */
export function stopListening(socket: us_listen_socket): void {
  us_listen_socket_close(socket)
}
