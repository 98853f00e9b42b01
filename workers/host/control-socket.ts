import { connect } from 'node:net'
import { requestWithPayload } from '../../src/drivers/haproxy/cli.ts'

/** `show servers state` of 100,000 servers is 8 MB. */
const ANSWER_BYTES_MAX = 64 * 1024 * 1024
/** HAProxy's buffer holds 16 KiB, of which it keeps one for itself. */
const REQUEST_BYTES_MAX = 15_000

/**
 * Sends one command over one connection and returns the whole answer without the line breaks at its end. HAProxy's
 * master answers until the writing side is closed, and every answer ends with a line break: an empty one was cut off.
 */
export function sendCommand(path: string, request: string, timeout_ms: number, payload?: string): Promise<string> {
  if (/[\r\n]/.test(request)) return Promise.reject(new Error('a command must be one line'))
  const whole = payload === undefined ? `${request}\n` : requestWithPayload(request, payload)
  // HAProxy 2.6 does not refuse a request that its buffer cannot hold: it crashes.
  if (Buffer.byteLength(whole) > REQUEST_BYTES_MAX) return Promise.reject(new Error(`"${request}" is too long`))
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const socket = connect({ path, allowHalfOpen: true })
    const fail = (message: string): void => {
      clearTimeout(timer)
      socket.destroy()
      reject(new Error(`${path}: ${message}`))
    }
    const timer = setTimeout(() => fail(`no complete answer to "${request}" within ${timeout_ms} ms`), timeout_ms)
    socket.on('error', (error) => fail(error.message))
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > ANSWER_BYTES_MAX) fail(`the answer to "${request}" is longer than ${ANSWER_BYTES_MAX} bytes`)
    })
    socket.on('end', () => {
      clearTimeout(timer)
      socket.destroy()
      const answer = Buffer.concat(chunks).toString('utf8')
      if (answer.endsWith('\n')) resolve(answer.replace(/\n+$/, ''))
      else reject(new Error(`${path}: the answer to "${request}" was cut off`))
    })
    socket.end(whole)
  })
}
