import { request } from 'node:http'
import { createInterface } from 'node:readline'
import { type ClientLine, type Floating, FLOATING, now_us } from './lines.ts'

/** Sends requests to each floating IP all the time, each over a new connection, and reports gaps in the answers. */

const ASK_EVERY_MS = 40
const PATIENCE_MS = 400
/** Shorter gaps come from the rhythm of the requests, and from the machine. */
const GAP_US_MIN = 150_000

const say = (line: ClientLine) => process.stdout.write(`${JSON.stringify(line)}\n`)
const last = new Map<Floating, { readonly at_us: number; readonly by: string }>()
let answers = 0
let failed = 0

function answered(ip: Floating, by: string): void {
  const at_us = now_us()
  const before = last.get(ip)
  answers += 1
  last.set(ip, { at_us, by })
  if (before === undefined && last.size === FLOATING.length) say({ did: 'begun' })
  if (before !== undefined && at_us - before.at_us >= GAP_US_MIN)
    say({ did: 'gap', ip, from_us: before.at_us, to_us: at_us, before: before.by, after: by })
}

function ask(ip: Floating): void {
  const asked = request({ host: ip, port: 80, agent: false, timeout: PATIENCE_MS }, (answer) => {
    let text = ''
    answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    answer.on('end', () => {
      if (answer.statusCode === 200) answered(ip, text)
      else failed += 1
    })
    answer.on('error', () => (failed += 1))
  })
  asked.on('timeout', () => asked.destroy())
  asked.on('error', () => (failed += 1))
  asked.end()
}

setInterval(() => FLOATING.forEach(ask), ASK_EVERY_MS)
createInterface({ input: process.stdin })
  .on('line', () => say({ did: 'count', answers, failed, last_us: FLOATING.map((ip) => last.get(ip)?.at_us ?? 0) }))
  .on('close', () => process.exit(0))
