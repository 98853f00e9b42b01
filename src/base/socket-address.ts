import { isIP } from 'node:net'
import { resolve } from 'node:path'

/** The address of a HAProxy command socket, in the form of `node:net`. */
export type SocketAddress = { readonly path: string } | { readonly host: string; readonly port: number }

/** Linux stores the name of a Unix socket in a structure of this size, plus a terminating zero. */
export const SOCKET_PATH_BYTES_MAX = 107

/**
 * Parses an address in HAProxy's notation: a path, `unix@PATH`, `ADDRESS:PORT`, `ipv4@ADDRESS:PORT` or
 * `ipv6@ADDRESS:PORT`. A path is relative to the working folder. Returns the problem, as a text, if it cannot be used.
 */
export function parseSocketAddress(text: string): SocketAddress | string {
  const at = /^([a-z0-9+]+)@(.*)$/.exec(text)
  const [kind, rest] = at === null ? ['', text] : [at[1] ?? '', at[2] ?? '']
  if (kind === 'unix' || (kind === '' && isPath(rest))) return unixAddress(rest)
  if (kind === '' || kind === 'ipv4' || kind === 'ipv6') return tcpAddress(kind, rest)
  return `sockets of the kind ${kind}@ cannot be observed; use a path or ADDRESS:PORT`
}

/** Anything with a slash is a path, and so is a name without a colon. */
const isPath = (text: string) => text.includes('/') || !text.includes(':')

function unixAddress(text: string): SocketAddress | string {
  if (text === '') return 'the path is missing'
  const path = resolve(text)
  const bytes = Buffer.byteLength(path)
  if (bytes <= SOCKET_PATH_BYTES_MAX) return { path }
  return `the path has ${bytes} bytes; the name of a socket has at most ${SOCKET_PATH_BYTES_MAX}`
}

function tcpAddress(kind: string, text: string): SocketAddress | string {
  const colon = text.lastIndexOf(':')
  const host = text.slice(0, Math.max(0, colon)).replace(/^\[(.*)\]$/, '$1')
  const digits = text.slice(colon + 1)
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0
  const family = isIP(host)
  const wanted = kind === '' ? family : Number(kind.slice('ipv'.length))
  if (family !== 0 && family === wanted && port > 0 && port <= 65_535) return { host, port }
  return 'must be the path of a socket or ADDRESS:PORT, such as /run/haproxy/admin.sock or ipv4@127.0.0.1:9999'
}

/** Returns the address as messages show it. */
export function addressText(address: SocketAddress): string {
  if ('path' in address) return address.path
  return address.host.includes(':') ? `[${address.host}]:${address.port}` : `${address.host}:${address.port}`
}
