import { request } from 'node:http'

/**
 * Asks a web server every so many milliseconds, each time over a new connection, until its standard input ends; then it
 * says for how long nobody answered at the most, and how many were not answered.
 */
const [url = '', every = ''] = process.argv.slice(2)
const PATIENCE_MS = 200

let last_ms: number | undefined
let longest_ms = 0
let answers = 0
let failed = 0

function ask(): void {
  const asked = request(url, { agent: false, timeout: PATIENCE_MS }, (answer) => {
    answer.resume()
    if (answer.statusCode !== 200) return
    const now_ms = performance.now()
    if (last_ms === undefined) console.log('answered')
    else longest_ms = Math.max(longest_ms, now_ms - last_ms)
    last_ms = now_ms
    answers += 1
  })
  asked.on('timeout', () => asked.destroy())
  asked.on('error', () => (failed += last_ms === undefined ? 0 : 1))
  asked.end()
}

const timer = setInterval(ask, Number(every))
process.stdin.resume().once('end', () => {
  clearInterval(timer)
  console.log(JSON.stringify({ longest_ms, answers, failed }))
  process.exit(0)
})
