import { connect } from 'node:net'

/**
 * Sends a request to a web server every so many milliseconds, each over a new connection, until its standard input
 * ends; then it reports the longest time without an answer, the number of unanswered requests, and the number of gaps:
 * unanswered requests that began within a second belong together, as with the move of an address.
 */
const [url = '', every = '', patience = '200'] = process.argv.slice(2)
const { hostname, port } = new URL(url)
const host = hostname.replaceAll(/[[\]]/g, '')
const every_ms = Number(every)
const TOGETHER_MS = 1_000
/** Late requests of a busy machine are sent then, but at most this many at once. */
const LATE_MAX = 100

let last_ms: number | undefined
let longest_ms = 0
let answers = 0
let failed = 0
const failures_ms: number[] = []

function ask(): void {
  const begun_ms = performance.now()
  let isAnswered = false
  const socket = connect({ host, port: Number(port === '' ? 80 : port) })
  socket.setTimeout(Number(patience), () => socket.destroy())
  // The server ends the connection, so that no port of this side has to wait before it is reused.
  socket.write(`GET / HTTP/1.0\r\nHost: ${host}\r\n\r\n`)
  socket.once('data', (text) => (isAnswered = /^HTTP\/1\.\d 200 /.test(String(text))))
  socket.on('error', () => undefined)
  socket.once('close', () => {
    if (!isAnswered) return missed(begun_ms)
    const now_ms = performance.now()
    if (last_ms === undefined) console.log('answered')
    else longest_ms = Math.max(longest_ms, now_ms - last_ms)
    last_ms = now_ms
    answers += 1
  })
}

function missed(begun_ms: number): void {
  if (last_ms === undefined) return
  failed += 1
  failures_ms.push(begun_ms)
}

const first_ms = performance.now()
let due = 0
const timer = setInterval(
  () => {
    const now = Math.floor((performance.now() - first_ms) / every_ms)
    for (due = Math.max(due, now - LATE_MAX); due < now; due++) ask()
  },
  Math.max(1, every_ms),
)
process.stdin.resume().once('end', () => {
  clearInterval(timer)
  const seconds = (performance.now() - first_ms) / 1_000
  const sorted = failures_ms.toSorted((a, b) => a - b)
  const times = sorted.filter((begun_ms, at) => begun_ms - (sorted[at - 1] ?? -Infinity) > TOGETHER_MS).length
  console.log(JSON.stringify({ longest_ms, answers, failed, times, rate: answers / seconds }))
  process.exit(0)
})
