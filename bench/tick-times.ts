/**
 * Preloaded into a daemon with `--import FILE?to=PATH`: logs, from within the archive thread, when each second of
 * statistics was complete, one per line.
 */
import { appendFileSync } from 'node:fs'
import { parentPort } from 'node:worker_threads'

const to = new URL(import.meta.url).searchParams.get('to')
const port = parentPort
if (port !== null && to !== null) {
  const post = port.postMessage.bind(port)
  port.postMessage = (message, transfer) => {
    const told = message?.message
    if (told?.type === 'tick') appendFileSync(to, `${Date.now()} ${told.hwm_s} ${told.up}\n`)
    post(message, transfer)
  }
}
