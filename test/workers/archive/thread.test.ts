import t from 'tap'
import { temporaryFolder } from '../../fixtures/folder.ts'
import type { FromArchive, HaproxyTick } from '../../../workers/archive/messages.ts'
import { ArchiveThread } from '../../../workers/archive/thread.ts'
import { ArchiveReader } from '../../../storage/archive/reader.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { listen, patientRhythm, STATS } from './socket-fixture.ts'

const ANSWER = `Pid: 5\nUptime_sec: 900\n\n${STATS}`

/** Runs the thread's code in this thread, until `done` has seen the message for which it waits. */
function start(
  directory: string,
  path: string,
  now_ms: () => number = () => Date.now(),
  monotonic_ms: () => number = () => performance.now(),
) {
  const messages: FromArchive<HaproxyTick>[] = []
  let wake: () => void = () => undefined
  const clock = { now_ms, monotonic_ms }
  const thread = new ArchiveThread(directory, patientRhythm(path), clock, (message) => {
    messages.push(message)
    wake()
  })
  const seen = async (wanted: (message: FromArchive<HaproxyTick>) => boolean): Promise<FromArchive<HaproxyTick>> => {
    for (;;) {
      const found = messages.find(wanted)
      if (found !== undefined) return found
      await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  return { thread, messages, seen }
}

t.test('ready, a slab, the objects, ticks', async (t) => {
  const path = await listen(t, () => ANSWER)
  const { thread, messages, seen } = start(temporaryFolder(t), path)
  t.equal(messages[0]?.type, 'ready')
  void thread.run()
  const tick = await seen(({ type }) => type === 'tick')
  t.match(tick, { up: true, reason: undefined })
  t.strictSame(
    messages.slice(0, 4).map(({ type }) => type),
    ['ready', 'slab', 'objects', 'tick'],
  )
  t.match(messages[2], { added: [{ kind: 'frontend', name: 'fe', backend: '', slot: 0 }], removed: [] })
  if (tick.type === 'tick') t.strictSame([tick.rows?.length, tick.csv?.length], [2, ANSWER.length])
  await thread.capture()
  t.strictSame(await thread.check(), [])
  await thread.stop()
  t.match(await thread.check(), [/^the archive could not be checked: .*closed/], 'a failed check is answered')
})

t.test('no HAProxy: ticks have the reason, and the seconds continue as unknown', async (t) => {
  const { thread, seen } = start(temporaryFolder(t), '/nonexistent/stats.sock')
  void thread.run()
  const first = await seen(({ type }) => type === 'tick')
  t.match(first, { up: false, reason: 'its socket does not exist', csv: undefined })
  const hwm = first.type === 'tick' ? first.hwm_s : 0
  await seen((message) => message.type === 'tick' && message.hwm_s > hwm)
  await thread.stop()
})

t.test('a start with a clock that is behind waits for it', async (t) => {
  const directory = temporaryFolder(t)
  const path = await listen(t, () => ANSWER)
  const future_s = Math.floor(Date.now() / 1_000) + 3_600
  await new ArchiveWriter(directory, future_s).close()
  const back = start(directory, path)
  void back.thread.run()
  const tick = await back.seen(({ type }) => type === 'tick')
  t.ok(tick.type === 'tick' && tick.hwm_s === future_s - 5, 'not at once: the clock may be corrected')
  t.match(await back.seen(({ type }) => type === 'warning'), {
    message: /is behind the archive/,
    detail: /ten minutes/,
  })
  await back.thread.stop()
  const unset = start(directory, path, () => 1_000_000)
  void unset.thread.run()
  t.match(await unset.seen(({ type }) => type === 'warning'), { message: /not set/ })
  const waiting = await unset.seen(({ type }) => type === 'tick')
  t.ok(waiting.type === 'tick' && waiting.hwm_s > 1_600_000_000, 'nothing was discarded')
  await unset.thread.stop()
})

t.test('a delayed thread covers the seconds that it missed, and their sum is exact', async (t) => {
  const directory = temporaryFolder(t)
  let passed_ms = 0
  const path = await listen(t, () => ANSWER.replace(',1,2,3,4,0,', `,1,${passed_ms},3,4,0,`))
  const start_ms = Date.parse('2026-03-04T05:06:07Z')
  const clock = { now_ms: () => start_ms + passed_ms, monotonic_ms: () => passed_ms }
  let ticks = 0
  let ended: () => void = () => undefined
  const done = new Promise<void>((resolve) => (ended = resolve))
  const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
    if (++ticks === 10) {
      ended()
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
    }
    passed_ms += ms + (ticks === 5 ? 3_000 : 0)
  }
  const thread = new ArchiveThread(directory, patientRhythm(path), clock, () => undefined, pause)
  void thread.run()
  await done
  await thread.stop()
  const writer = new ArchiveWriter(directory, 0)
  const [object] = writer.objects()
  const reader = new ArchiveReader(directory, writer.ring.header, writer.ring.slabs)
  const from = start_ms / 1_000
  const n = writer.hwm_s - from
  t.equal(n, 12, 'nine polls, one of them three seconds late')
  const values = new Float64Array(n * 4)
  reader.readBase(object ?? { id: 0, slot: -1 }, from, from + n, values)
  const rates = [...values.subarray(n, 2 * n)]
  t.notOk(rates.some(Number.isNaN), 'no second is unknown')
  t.equal(
    rates.reduce((sum, value) => sum + value, 0),
    passed_ms,
  )
  t.ok(rates.every((rate) => rate >= 999 && rate <= 1_050))
  await writer.close()
})

t.test('a clock that was set back on purpose is followed at the next second', async (t) => {
  const directory = temporaryFolder(t)
  const path = await listen(t, () => ANSWER)
  const [start_ms, back_ms] = [Date.parse('2026-03-04T05:06:07Z'), 30 * 86_400_000]
  let passed_ms = 0
  let shift_ms = 0
  let ticks = 0
  const messages: FromArchive<HaproxyTick>[] = []
  let ended: () => void = () => undefined
  const done = new Promise<void>((resolve) => (ended = resolve))
  const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
    passed_ms += ms
    if (++ticks === 3) {
      shift_ms = -back_ms
      thread.clockStepped()
    }
    if (ticks < 5) return
    ended()
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
  }
  const clock = { now_ms: () => start_ms + shift_ms + passed_ms, monotonic_ms: () => passed_ms }
  const thread = new ArchiveThread(directory, patientRhythm(path), clock, (message) => messages.push(message), pause)
  void thread.run()
  await done
  await thread.stop()
  t.match(
    messages.filter(({ type }) => type === 'warning'),
    [{ message: /stepped-back/ }, { message: 'the clock was set back: newer statistics are dropped' }],
  )
  const marks = messages.flatMap((message) => (message.type === 'tick' ? [message.hwm_s * 1_000 < start_ms] : []))
  t.strictSame(marks, [false, false, false, true, true], 'from the tick after the step on')
})

t.test('unstored seconds are served, and reported as not on the disk', async (t) => {
  const path = await listen(t, () => ANSWER)
  const { thread, messages, seen } = start(temporaryFolder(t), path)
  void thread.run()
  const isTick = (message: FromArchive<HaproxyTick>) => message.type === 'tick'
  const stored = (message: FromArchive<HaproxyTick> | undefined) => (message?.type === 'tick' ? message.stored_s : 0)
  await seen(isTick)
  const hold = Reflect.get(ArchiveWriter.prototype, 'hold')
  t.intercept(ArchiveWriter.prototype, 'hold', {
    value(this: ArchiveWriter) {
      Reflect.apply(hold, this, ['no room'])
    },
  })
  const first = await seen((message) => message.type === 'tick' && message.storage !== undefined)
  await seen((message) => message.type === 'tick' && message.hwm_s > stored(first) + 1)
  t.equal(stored(messages.findLast(isTick)), stored(first))
  await thread.stop()
})
