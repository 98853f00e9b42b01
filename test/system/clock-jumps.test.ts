/** The whole archive thread under clocks that jump: simulated time, a real socket, a store on disk. */
import t, { type Test } from 'tap'
import { checkArchive } from '../../storage/archive/check.ts'
import { ArchiveReader } from '../../storage/archive/reader.ts'
import { ArchiveWriter } from '../../storage/archive/writer.ts'
import type { FromArchive, HaproxyTick } from '../../workers/archive/messages.ts'
import { ArchiveThread } from '../../workers/archive/thread.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { listen, patientRhythm, STATS } from '../workers/archive/socket-fixture.ts'

const START_MS = Date.parse('2026-03-04T05:06:07Z')
const PER_SECOND = 1_000

/** A machine whose wall clock can be set, and whose HAProxy serves a thousand sessions per real second. */
class Machine {
  readonly directory: string
  #passed_ms = 0
  #offset_ms = 0
  #polled = 0
  readonly warnings: string[] = []

  constructor(t: Test) {
    this.directory = temporaryFolder(t)
  }

  /** Sessions that HAProxy has reported. */
  get polled(): number {
    return this.#polled
  }

  setClock(by_ms: number): void {
    this.#offset_ms += by_ms
  }

  /** Lets time pass while the thread does not run. */
  sleep(ms: number): void {
    this.#passed_ms += ms
  }

  answer(): string {
    this.#polled = Math.floor((this.#passed_ms / 1_000) * PER_SECOND)
    return `Pid: 5\nUptime_sec: ${900 + Math.floor(this.#passed_ms / 1_000)}\n\n${STATS.replace(',2,3,4,', `,${this.#polled},3,4,`)}`
  }

  /** Runs the thread for so many ticks; `at` is called before each. */
  async run(t: Test, ticks: number, at: (tick: number) => void): Promise<void> {
    const path = await listen(t, () => this.answer())
    let left = ticks
    let ended: () => void = () => undefined
    const done = new Promise<void>((resolve) => (ended = resolve))
    const clock = {
      now_ms: () => START_MS + this.#passed_ms + this.#offset_ms,
      monotonic_ms: () => this.#passed_ms,
    }
    const post = (message: FromArchive<HaproxyTick>) => {
      if (message.type === 'warning') this.warnings.push(message.message)
    }
    const pause = async (ms: number, signal: AbortSignal): Promise<void> => {
      if (left === 0) {
        ended()
        await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
      }
      at(ticks - left)
      left--
      this.#passed_ms += Math.max(0, ms)
    }
    const thread = new ArchiveThread(this.directory, patientRhythm(path), clock, post, pause)
    void thread.run()
    await done
    await thread.stop()
  }

  /** Returns the archive's sum of sessions, its known seconds, and the largest and smallest value of one second. */
  async found(t: Test) {
    const writer = new ArchiveWriter(this.directory, 0)
    t.strictSame(checkArchive(writer.databases), [])
    const reader = new ArchiveReader(this.directory, writer.ring.header, writer.ring.slabs)
    const [object] = writer.objects()
    const { hwm_s } = writer
    const n = 7_200
    const values = new Float64Array(n * 4)
    reader.readBase(object ?? { id: 0, slot: -1 }, hwm_s - n, hwm_s, values)
    const rates = [...values.subarray(n, 2 * n)].filter((value) => !Number.isNaN(value))
    const sum = rates.reduce((total, value) => total + value, 0)
    await writer.close()
    return { hwm_s, sum, known: rates.length, largest: Math.max(...rates), smallest: Math.min(...rates) }
  }
}

const SECOND = 1_000
const HOUR = 3_600 * SECOND
const YEARS = 10 * 365 * 24 * HOUR

for (const [name, jump_ms] of [
  ['1 s', SECOND],
  ['61 s', 61 * SECOND],
  ['1 h', HOUR],
  ['10 years', YEARS],
] as const) {
  t.test(`the clock is set forward by ${name}: nothing is lost, nothing is smeared over the gap`, async (t) => {
    const machine = new Machine(t)
    await machine.run(t, 600, (tick) => {
      if (tick === 200) machine.setClock(jump_ms)
    })
    const found = await machine.found(t)
    const seen = jump_ms === YEARS ? 400 : 600
    t.ok(found.known >= seen - 5 && found.known <= seen + 5, `${found.known} seconds known`)
    // While the clock is slewed, a second is one per cent longer or shorter than a real one; the first one is 1.05 s.
    t.ok(
      found.largest <= PER_SECOND * 1.06 && found.smallest >= PER_SECOND * 0.98,
      `${found.smallest} to ${found.largest}`,
    )
    if (jump_ms !== YEARS) t.equal(found.sum, machine.polled, 'every session is there once')
  })
}

t.test('the clock is set back by 1 s: the archive continues and slews; nothing is lost', async (t) => {
  const machine = new Machine(t)
  await machine.run(t, 600, (tick) => {
    if (tick === 200) machine.setClock(-SECOND)
  })
  const found = await machine.found(t)
  t.equal(found.sum, machine.polled)
  t.ok(
    found.largest <= PER_SECOND * 1.06 && found.smallest >= PER_SECOND * 0.98,
    `${found.smallest} to ${found.largest}`,
  )
  t.strictSame(machine.warnings, [])
})

for (const [name, jump_s, ticks] of [
  ['61 s', 61, 700],
  ['1 h', 3_600, 4_300],
] as const) {
  t.test(`the clock is set back by ${name}: repeated seconds have one value, the new one`, async (t) => {
    const machine = new Machine(t)
    await machine.run(t, ticks, (tick) => {
      if (tick === ticks - 500) machine.setClock(-jump_s * SECOND)
    })
    const found = await machine.found(t)
    t.match(machine.warnings.join(), /set back/)
    const expected = (ticks - jump_s) * PER_SECOND
    t.ok(Math.abs(found.sum - expected) <= PER_SECOND / 10, `${found.sum} of ${expected}`)
    t.ok(found.known <= ticks - jump_s + 1, `${found.known} seconds known`)
    t.ok(found.largest <= PER_SECOND * 1.06, `${found.largest}`)
  })
}

t.test('a clock that falls back by 10 years gets time to be corrected; nothing is lost meanwhile', async (t) => {
  const machine = new Machine(t)
  await machine.run(t, 700, (tick) => {
    if (tick === 200) machine.setClock(-YEARS)
    if (tick === 300) machine.setClock(YEARS)
  })
  const found = await machine.found(t)
  t.ok(found.hwm_s > START_MS / SECOND + 690)
  t.equal(found.sum, machine.polled)
})

t.test('a clock that stays ten years behind is not trusted: stored data is kept', async (t) => {
  const machine = new Machine(t)
  await machine.run(t, 1_000, (tick) => {
    if (tick === 200) machine.setClock(-YEARS)
  })
  const found = await machine.found(t)
  t.match(machine.warnings.join(), /not set/)
  t.ok(found.known >= 795 && found.known <= 805, `${found.known} seconds known: until the clock was trusted`)
})

t.test(
  'a start with a clock a day behind waits ten minutes, then follows it; a corrected clock finds everything',
  async (t) => {
    const machine = new Machine(t)
    await machine.run(t, 300, () => undefined)
    machine.setClock(-24 * HOUR)
    await machine.run(t, 300, () => undefined)
    t.match(machine.warnings.join(), /is behind the archive/)
    t.equal((await machine.found(t)).hwm_s, START_MS / SECOND + 300, 'nothing was discarded')
    machine.setClock(24 * HOUR)
    await machine.run(t, 100, () => undefined)
    const corrected = await machine.found(t)
    t.ok(corrected.known >= 395 && corrected.known <= 400, `${corrected.known} seconds known`)
    machine.setClock(-24 * HOUR)
    await machine.run(t, 700, () => undefined)
    t.match(machine.warnings.join(), /set back/)
    const back = await machine.found(t)
    t.ok(
      back.hwm_s < START_MS / SECOND - 20 * 3_600 && back.known >= 95 && back.known <= 101,
      `${back.known} seconds known`,
    )
    t.ok(back.largest <= PER_SECOND * 1.06, 'sessions counted during the wait are in no second')
  },
)

t.test(
  'the machine sleeps for a minute: those seconds are unknown, and their sessions are not moved elsewhere',
  async (t) => {
    const machine = new Machine(t)
    await machine.run(t, 600, (tick) => {
      if (tick === 200) machine.sleep(60 * SECOND)
    })
    const found = await machine.found(t)
    t.ok(found.known >= 598 && found.known <= 600, `${found.known} seconds known`)
    t.ok(
      found.largest <= PER_SECOND * 1.06 && found.smallest >= PER_SECOND * 0.98,
      `${found.smallest} to ${found.largest}`,
    )
  },
)

t.test('a restart after the clock was set back by 40 s: repeated seconds keep their values, no peak', async (t) => {
  const machine = new Machine(t)
  await machine.run(t, 300, () => undefined)
  machine.setClock(-40 * SECOND)
  await machine.run(t, 200, () => undefined)
  const found = await machine.found(t)
  t.ok(found.largest <= PER_SECOND * 1.06, `${found.largest}`)
  t.ok(found.known >= 455 && found.known <= 462, `${found.known} seconds known`)
})
