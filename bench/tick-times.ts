/**
 * Loaded into a daemon with `--import FILE?to=PATH`: writes when each second of statistics was complete, one line each, from within
 * the archive thread.
 */
import { appendFileSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'

const to = new URL(import.meta.url).searchParams.get('to')
const port = parentPort
if (port !== null && to !== null) {
  const post = port.postMessage.bind(port)
  port.postMessage = (message, transfer) => {
    if (message?.type === 'tick') appendFileSync(to, `${Date.now()} ${message.hwm_s} ${message.up}\n`)
    post(message, transfer)
  }
}
