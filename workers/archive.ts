/**
 * The archive thread: lives as long as the daemon, polls HAProxy once a second, reads the kernel's balancing table
 * every two seconds, and is the only writer of both archives. A resident thread and not a pool task: see
 * docs/decisions.
 */
import { type MessagePort, parentPort } from 'node:worker_threads'
import { systemClock } from '../src/base/clock.ts'
import type { ArchivesOptions, FromArchiveThread, HaproxyTick, IpvsTick, ToArchiveThread } from './archive/messages.ts'
import { haproxyRhythm, ipvsRhythm } from './archive/rhythms.ts'
import { ArchiveThread, type Post } from './archive/thread.ts'

/** Both archives, for the code at the other end of the port. */
export function serve(port: MessagePort, { layer7, layer4 }: ArchivesOptions): void {
  const post = (message: FromArchiveThread, transfer: readonly ArrayBuffer[]) =>
    port.postMessage(message, [...transfer])
  const done = (request: number, problems: readonly string[]) => post({ type: 'done', request, problems }, [])
  const ofLayer7: Post<HaproxyTick> = (message, transfer) => post({ type: 'layer7', message }, transfer)
  const ofLayer4: Post<IpvsTick> = (message, transfer) => post({ type: 'layer4', message }, transfer)
  const haproxy = new ArchiveThread(layer7.directory, haproxyRhythm(layer7.source), systemClock, ofLayer7)
  const ipvs = layer4 && new ArchiveThread(layer4.directory, ipvsRhythm(layer4.source), systemClock, ofLayer4)
  const all = ipvs === undefined ? [haproxy] : [haproxy, ipvs]
  const check = async () => (await Promise.all(all.map((thread) => thread.check()))).flat()
  port.on('message', (message: ToArchiveThread) => {
    if (message.type === 'capture') void haproxy.capture().then(() => done(message.request, []))
    else if (message.type === 'check') void check().then((problems) => done(message.request, problems))
    else if (message.type === 'clockStepped') for (const thread of all) thread.clockStepped()
    else if (message.type === 'plan') ipvs?.take(message.plan)
    else void Promise.all(all.map((thread) => thread.stop())).then(() => port.close())
  })
  for (const thread of all) void thread.run()
}

// The thread starts before its settings are known; they arrive in the first message.
parentPort?.once('message', serve.bind(undefined, parentPort))
