import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { type Common, countIn, optionsOf, type Run, secondsIn } from '../command.ts'
import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import { CLEAR, coloured, meanOf, printable, short, sparkline, table } from '../output.ts'
import type { Terminal } from '../terminal.ts'
import { recordIfNamed } from './records.ts'

type Data = Readonly<Record<string, unknown>>

/** Adds the commands that follow the system. */
export function addWatch(program: Command, run: Run): void {
  program
    .command('events')
    .description('follow events until Ctrl-C')
    .option('-k, --kinds <kinds>', 'only these kinds, separated by commas')
    .option('--after <number>', 'start after this event')
    .action((_options: unknown, command: Command) => events(run, optionsOf(command)))
  program
    .command('top')
    .description('show the busiest frontends and backends, every second until Ctrl-C')
    .option('-n, --number <count>', 'number of updates (default: until Ctrl-C)')
    .action((_options: unknown, command: Command) => top(run, optionsOf(command)))
  program
    .command('history')
    .description('show the history of a frontend or backend')
    .argument('<service>', 'the name of a frontend or backend')
    .option('--kind <kind>', 'frontend or backend, if both have the name')
    .option('--since <time>', 'for example 30m, 24h or 7d', '1h')
    .option('--metrics <names>', 'separated by commas', 'currentSessions,sessionRate,bytesIn,bytesOut')
    .option('--csv', 'print comma-separated values, one line per point in time')
    .action((name: string, _options: unknown, command: Command) => history(run, name, optionsOf(command)))
}

async function events(
  run: Run,
  { kinds, after, ...common }: Common & { readonly kinds?: string; readonly after?: string },
) {
  let isWaiting = false
  const onState = (state: 'live' | 'waiting') => {
    if ((state === 'waiting') === isWaiting) return
    isWaiting = !isWaiting
    run.terminal.err(isWaiting ? 'The stream was interrupted; reconnecting.\n' : 'Reconnected.\n')
  }
  const stream = run.connect(common).events('/events', { kinds, after }, run.terminal.interrupted, onState)
  for await (const { id, event, data } of stream) {
    if (common.json === true) run.terminal.data(`${JSON.stringify(data)}\n`)
    else {
      const { at = '', kind = event, ...more } = Object(data) as Record<string, unknown>
      const told = Object.entries(more).map(([name, value]) => printable(`${name}=${plain(value)}`))
      // Without its fraction. Its zone stays, because this machine may be in another one.
      const when = printable(`${String(at).replace(/\.\d+/, '')} ${id.padStart(5)}`)
      const head = coloured(run.terminal, 'bold', printable(String(kind)))
      run.terminal.out(`${when} ${head} ${told.join(' ')}\n`)
    }
  }
}

const plain = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

const SORTED = ['frontends', 'backends'] as const

type Live = Readonly<Record<string, readonly Data[]>>

async function top(run: Run, { number, ...common }: Common & { readonly number?: string }): Promise<void> {
  const connection = run.connect(common)
  const times = number === undefined ? Infinity : countIn(number, '-n')
  const node = await nodeOf(connection)
  const { interrupted } = run.terminal
  let before: Seen | undefined
  for (let shown = 1; ; shown++) {
    const live = await connection.get<Live>(`/${node}/layer7proxy/stats`, {}, interrupted).catch((error: unknown) => {
      if (!interrupted.aborted) throw error
    })
    if (live === undefined) return
    const seen = { live, at_ms: performance.now() }
    if (common.json === true) run.terminal.data(`${JSON.stringify(live)}\n`)
    else run.terminal.out(`${run.terminal.columns === undefined ? '' : CLEAR}${screen(seen, before, run.terminal)}`)
    if (shown >= times) return
    before = seen
    await sleep(1000, undefined, { signal: interrupted }).catch(() => undefined)
    if (interrupted.aborted) return
  }
}

const TOP = ['kind', 'name', 'status', 'sessions', 'new/s', 'requests/s', 'in/s', 'out/s', '5xx/s', 'queue'] as const

interface Seen {
  readonly live: Live
  readonly at_ms: number
}

/** Returns as many rows as fit on the screen, the busiest first. */
export function screen(
  { live, at_ms }: Seen,
  before: Seen | undefined,
  { columns, rows: lines }: Pick<Terminal, 'columns' | 'rows'>,
): string {
  const elapsed_s = (at_ms - (before?.at_ms ?? at_ms)) / 1000
  const figure = (one: Data, name: string) => short(one[name] as number | null | undefined)
  const rows = SORTED.flatMap((kind) => {
    const known = new Map((before?.live[kind] ?? []).map((one) => [one['id'], one]))
    /**
     * Returns the increase of a counter per second since the previous screen; unknown if another process counts since
     * then.
     */
    const rate = (one: Data, name: string) => {
      const [now, old] = [one[name], known.get(one['id'])?.[name]]
      return typeof now === 'number' && typeof old === 'number' && now >= old ? short((now - old) / elapsed_s) : '-'
    }
    return (live[kind] ?? []).map((one) => ({ kind, one, rate }))
  }).toSorted((a, b) => Number(b.one['sessionRate'] ?? 0) - Number(a.one['sessionRate'] ?? 0))
  // One line for the head, one for the number of omitted rows, and one for the cursor.
  const fitting = lines === undefined || rows.length + 2 <= lines ? rows.length : Math.max(lines - 3, 1)
  const told = rows.slice(0, fitting).map(({ kind, one, rate }) => ({
    kind: kind.slice(0, -1),
    name: plain(one['name'] ?? ''),
    status: plain(one['status'] ?? ''),
    sessions: figure(one, 'currentSessions'),
    'new/s': figure(one, 'sessionRate'),
    'requests/s': figure(one, 'requestRate'),
    'in/s': rate(one, 'bytesIn'),
    'out/s': rate(one, 'bytesOut'),
    '5xx/s': rate(one, 'responses5xx'),
    queue: figure(one, 'currentQueue'),
  }))
  return `${table(told, TOP, columns)}${fitting < rows.length ? `and ${rows.length - fitting} more\n` : ''}`
}

/** Returns the id of the node that answers. */
async function nodeOf(connection: Connection): Promise<string> {
  const { nodes } = await connection.get<{ readonly nodes: readonly { readonly nodeId: string }[] }>('/services/apply')
  const [own] = nodes
  if (own === undefined) throw new Failure('the daemon does not identify its node')
  return own.nodeId
}

const FIGURES = [
  { kind: 'frontend', list: '/layer7proxy/frontends', history: 'layer7proxy/stats/frontends' },
  { kind: 'backend', list: '/layer7proxy/backends', history: 'layer7proxy/stats/backends' },
] as const

interface History {
  readonly start: number
  readonly resolution: number
  readonly metrics: readonly string[]
  readonly series: Readonly<Record<string, readonly (number | null)[]>>
}

/**
 * The minutes of a week. A coarse value is recorded when its time is over, so with as many points as bars, the last
 * five minutes of an hour and the last hour of a day would be missing, and their peak.
 */
const POINTS = 10_080

interface HistoryOptions extends Common {
  readonly kind?: string
  readonly since: string
  readonly metrics: string
  readonly csv?: boolean
}

async function history(
  run: Run,
  name: string,
  { kind, since, metrics, csv, ...common }: HistoryOptions,
): Promise<void> {
  const connection = run.connect(common)
  const seconds = secondsIn(since)
  const path = await figuresOf(connection, name, kind)
  const end = Math.floor(Date.now() / 1000)
  const width = Math.max(10, Math.min(60, (run.terminal.columns ?? 80) - 40))
  const isTable = csv !== true && common.json !== true
  const query = { start: end - seconds, end, metrics, ...(isTable ? { points: POINTS } : {}) }
  const [found, highest] = await Promise.all([
    connection.get<History>(path, query),
    // The highest average is far below the real peak.
    isTable ? connection.get<History>(path, { ...query, consolidation: 'maximum' }) : undefined,
  ])
  if (common.json === true) return run.json(found)
  const { start, resolution, series } = found
  if (csv === true) {
    const columns = found.metrics.map((metric) => series[metric] ?? [])
    run.terminal.data(`time,${found.metrics.join(',')}\n`)
    for (const at of (columns[0] ?? []).keys())
      run.terminal.data(`${start + at * resolution},${columns.map((values) => values[at] ?? '').join(',')}\n`)
    return
  }
  const rows = found.metrics.map((metric) => {
    const values = series[metric] ?? []
    const most = (highest?.series[metric] ?? []).filter((value) => value !== null)
    return {
      metric,
      [`last ${since}`]: sparkline(values, width),
      mean: short(meanOf(values)),
      most: short(most.length === 0 ? null : Math.max(...most)),
    }
  })
  run.terminal.out(table(rows, ['metric', `last ${since}`, 'mean', 'most'], undefined))
}

/** Returns the history path of the frontend or backend with this name; fails if several have it. */
async function figuresOf(connection: Connection, name: string, wanted: string | undefined): Promise<string> {
  if (wanted !== undefined && FIGURES.every(({ kind }) => kind !== wanted))
    throw new Failure(`--kind ${wanted}: use frontend or backend`)
  const found: string[] = []
  for (const { kind, list, history: path } of FIGURES) {
    if (wanted !== undefined && wanted !== kind) continue
    const record = await recordIfNamed(connection, list, name)
    if (record !== undefined) found.push(`${path}/${record.id}/history`)
  }
  const [one] = found
  if (one === undefined)
    throw new Failure(
      `there is ${wanted === undefined ? 'neither a frontend nor a backend' : `no ${wanted}`} ${name} of Layer 7`,
    )
  if (found.length > 1)
    throw new Failure(`a frontend and a backend are both named ${name}: use --kind frontend or --kind backend`)
  return `/${await nodeOf(connection)}/${one}`
}
