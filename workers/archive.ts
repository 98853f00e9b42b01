/**
 * The archive thread: lives as long as the daemon, polls HAProxy once a second, reads the kernel's balancing table every two
 * seconds, and is the only writer of both archives. A resident thread and not a pool task: see docs/decisions.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../src/clock.ts'
import type { ArchivesOptions, FromArchiveThread, Layer, LayerMessage, ToArchiveThread } from './archive/messages.ts'
import { haproxyRhythm, ipvsRhythm } from './archive/rhythms.ts'
import { ArchiveThread } from './archive/thread.ts'

type Post = (message: FromArchiveThread, transfer: readonly ArrayBuffer[]) => void

function serve(port: MessagePort, { layer7, layer4 }: ArchivesOptions): void {
  const postOf =
    (layer: Layer): Post =>
    (message, transfer) =>
      port.postMessage({ layer, message } satisfies LayerMessage, [...transfer])
  const haproxy = new ArchiveThread(layer7.directory, haproxyRhythm(layer7.source), systemClock, postOf('layer7'))
  const ipvs = layer4 && new ArchiveThread(layer4.directory, ipvsRhythm(layer4.source), systemClock, postOf('layer4'))
  const all = ipvs === undefined ? [haproxy] : [haproxy, ipvs]
  port.on('message', (message: ToArchiveThread) => {
    if (message.type === 'capture') void haproxy.capture(message.request)
    else if (message.type === 'check') for (const thread of all) void thread.check(message.request)
    else if (message.type === 'clockStepped') for (const thread of all) thread.clockStepped()
    else if (message.type === 'plan') ipvs?.feed.take(message.plan)
    else void Promise.all(all.map((thread) => thread.stop())).then(() => port.close())
  })
  for (const thread of all) void thread.run()
}

if (parentPort !== null) serve(parentPort, workerData)
