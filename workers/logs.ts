/**
 * The log thread: starts when a frontend has an access log or a caller searches one, reads HAProxy's lines, and is the
 * only writer of the stored logs. Lines that wait for it are in HAProxy's ring: see docs/decisions.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { LogsOptions, ToLogThread } from './logs/messages.ts'
import { LogThread } from './logs/thread.ts'

function serve(port: MessagePort, options: LogsOptions): void {
  const thread = new LogThread(options, (message) => port.postMessage(message))
  port.on('message', (message: ToLogThread) => {
    if (message.type === 'stop') void thread.stop().then(() => port.close())
    else thread.receive(message)
  })
  thread.run()
}

if (parentPort !== null) serve(parentPort, workerData)
