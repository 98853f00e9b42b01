import { EventEmitter } from 'node:events'
import type { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/base/clock.ts'
import { createLog, silentLog } from '../../../src/base/log.ts'
import { ArchiveSide } from '../../../src/stats/archive-side.ts'
import { ArchiveThreadKeeper } from '../../../src/stats/archive-thread.ts'
import { type ArchiveWorker, startArchives } from '../../../src/stats/start-archives.ts'
import { TIERS } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import type {
  FromArchive,
  FromArchiveThread,
  HaproxyTick,
  IpvsSource,
  IpvsTick,
  StatsSource,
  ToArchiveThread,
} from '../../../workers/archive/messages.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { namesOf } from './names-fixture.ts'

/** Records its messages, and has news for each thread that starts. */
class Listener<Source, Tick> extends ArchiveSide<Source, Tick> {
  readonly heard: string[] = []
  #knows = false

  constructor(t: Test, source: Source) {
    const archive = { directory: temporaryFolder(t), source }
    const names = namesOf([], [])
    super({ archive, names, applianceId: 'n', message: '', step_s: 1, tiers: TIERS, log: silentLog })
  }
  override receive(message: FromArchive<Tick>): void {
    super.receive(message)
    this.heard.push(message.type)
  }
  protected override take(): void {}
  override interrupt(reason: string): void {
    this.heard.push(reason)
    this.#knows = false
  }
  override news(): ToArchiveThread | undefined {
    if (this.#knows) return undefined
    this.#knows = true
    return { type: 'clockStepped' }
  }
}

const layer7Of = (t: Test) => new Listener<StatsSource, HaproxyTick>(t, { kind: 'stats-socket', path: '/nonexistent' })
const layer4Of = (t: Test) => new Listener<IpvsSource, IpvsTick>(t, { kind: 'ipvs', fd: undefined })

/** A thread that sends what the test wants, and records its messages. */
class ScriptedThread extends EventEmitter implements ArchiveWorker {
  readonly told: string[] = []
  threadId = 1

  postMessage({ type }: ToArchiveThread): void {
    this.told.push(type)
    if (type === 'stop') this.end()
  }
  say(message: FromArchiveThread): void {
    this.emit('message', message)
  }
  end(): void {
    this.threadId = -1
    this.emit('exit', 1)
  }
  async terminate(): Promise<void> {
    this.end()
  }
}

t.test('a thread that ends is restarted, and the log says so', async (t) => {
  const lines: string[] = []
  const layer7 = layer7Of(t)
  const workers: Worker[] = []
  let wake: () => void = () => undefined
  const archives = await ArchiveThreadKeeper.open(
    { layer7 },
    createLog((line) => lines.push(line)),
    systemClock,
    (options) => {
      const worker = startArchives(options)
      worker.on('message', () => wake())
      workers.push(worker)
      return worker
    },
  )
  t.strictSame(await archives.check(), [])
  await workers[0]?.terminate()
  t.match(await archives.check(), [/is being restarted/], 'nobody is there to answer')
  const opened = () => layer7.heard.filter((type) => type === 'ready').length
  while (opened() < 2) await new Promise<void>((resolve) => (wake = resolve))
  t.strictSame(await archives.check(), [])
  // A machine that stands still for seconds has something else to tell as well.
  const begun = () => lines.filter((line) => line.includes('the archive thread ended and is being restarted')).length
  t.equal(begun(), 1)
  await archives.close()
  t.equal(begun(), 1, 'a stop is no loss')
})

t.test('each layer learns of its own archive, and both of the thread', async (t) => {
  const [layer7, layer4, thread] = [layer7Of(t), layer4Of(t), new ScriptedThread()]
  let isOpen = false
  const opening = ArchiveThreadKeeper.open({ layer7, layer4 }, silentLog, systemClock, () => thread)
  void opening.then(() => (isOpen = true))
  const ready = (directory: string) => {
    const writer = new ArchiveWriter(directory, 1_000)
    t.teardown(() => writer.close())
    const { header, slabs } = writer.ring
    return { type: 'ready' as const, header, slabs, objects: [] }
  }
  thread.say({ type: 'layer7', message: ready(layer7.archive.directory) })
  await new Promise(setImmediate)
  t.notOk(isOpen, 'one of two')
  t.strictSame(thread.told, ['clockStepped', 'clockStepped'], 'the news of either')
  thread.say({ type: 'layer4', message: ready(layer4.archive.directory) })
  const archives = await opening
  thread.say({ type: 'layer4', message: { type: 'warning', message: 'm', detail: 'd' } })
  t.strictSame([layer7.heard, layer4.heard], [['ready'], ['ready', 'warning']])
  const answers = [archives.check(), archives.capture()] as const
  t.strictSame(thread.told.slice(2), ['check', 'capture'])
  thread.say({ type: 'done', request: 1, problems: ['p'] })
  t.strictSame(await answers[0], ['p'])
  thread.end()
  await answers[1]
  const reason = 'the statistics thread failed: it ended'
  t.strictSame([layer7.heard.at(-1), layer4.heard.at(-1)], [reason, reason])
  thread.threadId = 1
  thread.say({ type: 'layer4', message: { type: 'warning', message: 'm', detail: 'd' } })
  t.strictSame(thread.told.slice(4), ['clockStepped', 'clockStepped'], 'another thread knows nothing')
  await archives.close()
})
