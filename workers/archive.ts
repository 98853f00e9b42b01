/**
 * The archive thread: lives as long as the daemon, polls HAProxy once a second and is the only writer of the archive.
 * A resident thread and not a pool task: see docs/decisions.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../src/clock.ts'
import { ArchiveThread } from './archive/thread.ts'
import type { ArchiveThreadOptions, FromArchiveThread, ToArchiveThread } from './archive/messages.ts'

function serve(port: MessagePort, options: ArchiveThreadOptions): void {
  const post = (message: FromArchiveThread, transfer: readonly ArrayBuffer[]): void =>
    port.postMessage(message, [...transfer])
  const thread = new ArchiveThread(options, systemClock, post)
  port.on('message', (message: ToArchiveThread) => {
    if (message.type === 'capture') void thread.capture(message.request)
    else if (message.type === 'check') void thread.check(message.request)
    else if (message.type === 'clockStepped') thread.clockStepped()
    else void thread.stop().then(() => port.close())
  })
  void thread.run()
}

if (parentPort !== null) serve(parentPort, workerData)
