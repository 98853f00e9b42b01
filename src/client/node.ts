import { Agent, request as send } from 'node:https'
import { isIP, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { connect } from 'node:tls'
import type { Fetch } from './sending.ts'

/** The daemon closes a connection after 10 s without a request, and a request that arrives at that moment is lost. */
const UNUSED_MS_MAX = 5_000

/** The server presents another certificate; no request is sent to it. */
export class OtherCertificate extends Error {
  override readonly name = 'OtherCertificate'
}

/**
 * Returns a `fetch` for Node that accepts this certificate only, whoever signed it. `fingerprint` is its SHA-256 in
 * hexadecimal with colons, as shown by `GET /certificates/certs` and `openssl x509 -fingerprint -sha256`.
 */
export function pinnedFetch(fingerprint: string): Fetch {
  const agent = new Agent({ keepAlive: true, timeout: UNUSED_MS_MAX })
  agent.createConnection = (options, callback) => {
    connectTo(options as { readonly host: string; readonly port: number }, fingerprint).then(
      (socket) => callback?.(null, socket),
      (error: Error) => callback?.(error, undefined as never),
    )
    return undefined
  }
  return async (request) => {
    const { hostname: host, port, pathname, search } = new URL(request.url)
    const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer())
    const headers = { ...Object.fromEntries(request.headers), ...(body && { 'content-length': body.length }) }
    const options = { agent, method: request.method, host: host.replace(/^\[|\]$/g, ''), port: Number(port || 443) }
    return await new Promise((resolve, reject) => {
      const path = `${pathname}${search}`
      const going = send({ ...options, path, headers, signal: request.signal }, (answer) => {
        const { statusCode: status = 0, headers: got } = answer
        const fields = Object.entries(got).map(([name, value]): [string, string] => [name, String(value)])
        const isEmpty = status === 204 || status === 304 || request.method === 'HEAD'
        const content = isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>)
        if (isEmpty) answer.resume()
        resolve(new Response(content, { status, headers: fields }))
      })
      going.on('error', (error) =>
        reject(error instanceof OtherCertificate ? error : new TypeError('fetch failed', { cause: error })),
      )
      going.end(body)
    })
  }
}

function connectTo({ host, port }: { readonly host: string; readonly port: number }, wanted: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const name = isIP(host) === 0 ? { servername: host } : {}
    // The fingerprint is compared instead.
    const socket = connect({ host, port, rejectUnauthorized: false, ...name })
    // Registered for good: aborting a request while its connection is being freed raises an error on the socket, which
    // must not be unhandled.
    socket.on('error', reject)
    socket.once('secureConnect', () => {
      const shown = socket.getPeerCertificate().fingerprint256
      if (shown.toLowerCase() === wanted.toLowerCase()) return resolve(socket)
      socket.destroy()
      reject(new OtherCertificate(`${host}:${port} presents the certificate ${shown}, not ${wanted}`))
    })
  })
}
