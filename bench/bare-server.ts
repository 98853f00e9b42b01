/**
 * The limit for the daemon's front: uWebSockets.js alone, answering one body from memory, over TLS if a key and a
 * certificate are given. With `--reads` it also reads from each request what any server that identifies callers and
 * paths must read, looks both up, and sends the headers of the daemon's answers.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { App, type HttpRequest, type HttpResponse, SSLApp, us_socket_local_port } from 'uWebSockets.js'

const { values, positionals } = parseArgs({ allowPositionals: true, options: { reads: { type: 'boolean' } } })
const [file = '', key, certificate] = positionals
const body = readFileSync(file)
const app = key && certificate ? SSLApp({ key_file_name: key, cert_file_name: certificate }) : App()

const HEADERS = ['content-length', 'transfer-encoding', 'if-none-match', 'accept-encoding'] as const
const HEAD = 'application/json\r\nCache-Control: no-cache\r\nETag: "0123456789abcdef-1"\r\nVary: Accept-Encoding'
const known = new Map<string, number>()
let count = 0

function answer(response: HttpResponse): void {
  response.writeHeader('Content-Type', 'application/json')
  response.end(body)
}

function readAndAnswer(response: HttpResponse, request: HttpRequest): void {
  const asked = [
    request.getCaseSensitiveMethod(),
    request.getQuery(),
    ...HEADERS.map((name) => request.getHeader(name)),
  ]
  for (const one of [request.getUrl(), request.getHeader('authorization')])
    if (!known.has(one)) known.set(one, asked.length)
  const id = `${file.length}-${(count++).toString(36)}`
  response.writeHeader('Content-Type', `${HEAD}\r\nX-Request-Id: ${id}\r\nX-Content-Type-Options: nosniff`)
  response.tryEnd(body, 0)
}

app.any('/*', values.reads === true ? readAndAnswer : answer).listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('cannot listen')
  console.log(us_socket_local_port(socket))
})
