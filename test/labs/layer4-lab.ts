import type { Test } from 'tap'
import { silentLog } from '../../src/base/log.ts'
import type { L4Backend } from '../../src/model/layer4.ts'
import type { RealServer } from '../../src/model/real-server.ts'
import type { IpvsTable } from '../../src/ipvs/table.ts'
import type { ConfigView, SectionContents } from '../../src/model/sections.ts'
import { RunningNames } from '../../src/stats/running-names.ts'
import { Layer4Stats } from '../../src/stats/layer4-stats.ts'
import { Director } from '../../src/ipvs/director.ts'
import { servedFrontends } from '../../src/drivers/keepalived/services.ts'
import type { FromArchive, HealthChange, IpvsTick } from '../../workers/archive/messages.ts'
import { ipvsRhythm } from '../../workers/archive/rhythms.ts'
import { ArchiveThread } from '../../workers/archive/thread.ts'
import { l4Backend, realServer } from '../fixtures/config.ts'
import { IpvsSimulator } from '../simulators/ipvs-simulator.ts'
import { manualClock } from '../fixtures/manual-clock.ts'
import { viewOf } from '../fixtures/view.ts'

type Layer4Thread = ArchiveThread<IpvsTable | string, Float64Array<ArrayBuffer>, IpvsTick>

export const START_MS = Date.parse('2026-03-04T05:06:00Z')

/** A real server with its own address. */
export const real = (id: string, more: Partial<RealServer> = {}): RealServer =>
  realServer(id, { name: `server ${id}`, ip: `10.0.0.${id.replaceAll(/\D/g, '')}`, port: 80, ...more })

/** A backend with health checks. */
export const checked = (id: string, ripIds: readonly string[], more: Partial<L4Backend> = {}): L4Backend =>
  l4Backend(id, ripIds, { healthCheck: { type: 'tcp' }, ...more })

/** The archive thread, the main thread's side and a simulated kernel, all in one thread and on a manual clock. */
export class Layer4Lab {
  readonly kernel = new IpvsSimulator()
  readonly clock = manualClock(START_MS)
  readonly changes: HealthChange[] = []
  readonly messages: FromArchive<IpvsTick>[] = []
  readonly directory: string
  isChanging = false
  /** Whether real servers are checked. */
  isChecked = true
  stats: Layer4Stats
  #view: ConfigView
  #revision = 1
  #thread: Layer4Thread
  #paused: { readonly ms: number; readonly go: () => void } | undefined
  #wake: () => void = () => undefined

  constructor(directory: string, records: SectionContents) {
    this.directory = directory
    this.#view = viewOf(records)
    this.stats = this.#newStats()
    this.#thread = this.#newThread()
  }

  /** Sets the running configuration; the kernel is left as it is. */
  configure(records: SectionContents): void {
    this.#view = viewOf(records)
    this.#revision++
  }

  get running(): ConfigView {
    return {
      get: (section, id) => this.#view.get(section, id),
      list: (section) => this.#view.list(section),
    }
  }

  #newStats(): Layer4Stats {
    const revision = () => this.#revision
    return new Layer4Stats({
      archive: { directory: this.directory, source: { kind: 'ipvs', fd: undefined } },
      running: this.running,
      revision,
      names: new RunningNames(this.running, revision, 4),
      applianceId: 'node-1',
      isChanging: () => this.isChanging,
      director: new Director(
        () => this.isChecked,
        () => undefined,
      ),
      onHealth: (changes) => void this.changes.push(...changes),
      log: silentLog,
      clock: this.clock,
    })
  }

  #newThread(): Layer4Thread {
    const early: FromArchive<IpvsTick>[] = []
    let thread: Layer4Thread | undefined
    const take = (message: FromArchive<IpvsTick>) => {
      this.messages.push(message)
      this.stats.receive(message)
      const news = this.stats.news()
      if (news !== undefined) thread?.take(structuredClone(news.plan))
    }
    const post = (message: FromArchive<IpvsTick>) => {
      if (thread === undefined) early.push(message)
      else take(message)
    }
    const pause = (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new Error('stopped')))
        this.#paused = { ms, go: resolve }
        this.#wake()
      })
    thread = new ArchiveThread(
      this.directory,
      ipvsRhythm({ kind: 'ipvs', fd: undefined }, this.kernel.channel()),
      this.clock,
      post,
      pause,
    )
    for (const message of early) take(message)
    return thread
  }

  /** The first reading, at once. */
  async start(): Promise<void> {
    void this.#thread.run()
    await this.#pausing()
  }

  async #pausing(): Promise<void> {
    while (this.#paused === undefined) await new Promise<void>((resolve) => (this.#wake = resolve))
  }

  /** The next readings; before each, the kernel counts its traffic. */
  async tick(times = 1, before: () => void = () => undefined): Promise<void> {
    for (let i = 0; i < times; i++) {
      before()
      this.kernel.pass()
      const paused = this.#paused
      this.#paused = undefined
      this.clock.advance(paused?.ms ?? 0)
      // The configuration is read every second.
      const news = this.stats.news()
      if (news !== undefined) this.#thread.take(structuredClone(news.plan))
      paused?.go()
      await this.#pausing()
    }
  }

  /** Ends both sides and starts them again, on the same folder. */
  async restart(passed_ms = 0): Promise<void> {
    await this.stop()
    this.clock.advance(passed_ms)
    this.stats = this.#newStats()
    this.#thread = this.#newThread()
    this.#paused = undefined
    await this.start()
  }

  async stop(): Promise<void> {
    await this.#thread.stop()
    await this.stats.close()
  }

  /** Sets up the kernel as keepalived would for the running configuration. */
  enact(): void {
    for (const { frontend, backend, firstPort, marks, destinations } of servedFrontends(this.running)) {
      const services =
        marks.length > 0
          ? marks.map((mark) => ['-f', String(mark)])
          : [[frontend.protocol === 'tcp' ? '-t' : '-u', `${frontend.ip}:${firstPort}`]]
      const method = { masq: '-m', gate: '-g', ipip: '-i' }[frontend.forwarding]
      for (const service of services) {
        this.#run('-A', ...service, '-s', backend.scheduler)
        for (const { ip, port, share } of destinations)
          if (share !== 'halted') this.#run('-a', ...service, '-r', `${ip}:${port}`, method, '-w', String(share))
      }
    }
  }

  #run(...argv: readonly string[]): void {
    const { code, stderr } = this.kernel.ipvsadm(...argv)
    if (code !== 0) throw new Error(`${argv.join(' ')}: ${stderr}`)
  }

  /** Data of a live answer. */
  live(view: Parameters<Layer4Stats['live']['render']>[0]) {
    const answer = this.stats.live.render(view)
    return JSON.parse(Buffer.from(answer?.body ?? 'null').toString())
  }

  /** Data of a history answer over the last seconds. */
  history(what: 'frontend' | 'backend' | 'backendReals' | 'rip', id: string, seconds: number, more: object = {}) {
    const end = Math.floor(this.clock.now_ms() / 1_000)
    const query = {
      start: end - seconds,
      end,
      resolution: undefined,
      consolidation: 'average' as const,
      metrics: ['currentSessions', 'sessionRate', 'bytesIn', 'bytesOut'] as const,
      format: 'json' as const,
      ...more,
    }
    const answer = this.stats.history[what](id, query)
    return JSON.parse(Buffer.from(answer?.body ?? 'null').toString())
  }
}

/** A lab that ends with its test. */
export async function layer4Lab(t: Test, directory: string, records: SectionContents): Promise<Layer4Lab> {
  const lab = new Layer4Lab(directory, records)
  t.teardown(() => lab.stop())
  lab.enact()
  await lab.start()
  return lab
}
