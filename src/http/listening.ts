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
 * The place with a port that is free now. Rejects when anybody listens there: a port that is shared would silently be
 * shared with a stranger. Port 0 becomes one the system chooses, because only a port that was asked for can be shared.
 */
export async function freePlace(place: Place): Promise<Place> {
  const socket = await openSocket(App(), place, LIBUS_LISTEN_EXCLUSIVE_PORT)
  const port = us_socket_local_port(socket)
  stopListening(socket)
  return { host: place.host, port }
}

/**
 * Listens on a socket that has a name, which nobody else can open from its first moment on: uSockets gives it the mode
 * 0700 before it is bound. It takes over the name that a daemon without an end has left.
 */
export function openLocalSocket(app: TemplatedApp, path: string): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    app.listen_unix((socket: us_listen_socket | false) => {
      if (socket !== false) resolve(socket)
      else reject(new Error(`cannot listen on ${path}`))
    }, path)
  })
}

/** Whether somebody listens on the socket of this name. */
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

/** Open connections go on. */
export function stopListening(socket: us_listen_socket): void {
  us_listen_socket_close(socket)
}
