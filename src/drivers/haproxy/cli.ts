/** The text protocol of HAProxy's command sockets (stats socket and master CLI): framing only, no input or output. */

/** Characters at which the CLI splits or unescapes; each is escaped by a backslash. */
const SPECIAL = /[\\; \t<]/g
// oxlint-disable-next-line no-control-regex -- control characters are exactly what must be refused
const FORBIDDEN = /[\u0000-\u0008\u000a-\u001f\u007f]/

/** Quotes one word of a command. A line break would start a second command, so control characters are refused. */
export function quoteWord(word: string): string {
  if (word === '' || FORBIDDEN.test(word))
    throw new TypeError('a word of a HAProxy command is empty or contains a control character')
  return word.replace(SPECIAL, '\\$&')
}

export function command(...words: readonly string[]): string {
  return words.map(quoteWord).join(' ')
}

/** Addresses a command to a process of the master: `@1` is always the current worker, `@!pid` one exact process. */
export function toWorker(target: 'current' | { readonly pid: number }, text: string): string {
  return target === 'current' ? `@1 ${text}` : `@!${target.pid} ${text}`
}

/**
 * Joins commands into one line. They are answered in order, each answer followed by an empty line, then the socket is
 * closed.
 */
export function requestLine(...commands: readonly string[]): string {
  return `${commands.join('; ')}\n`
}

/**
 * Adds a payload (certificates, maps) to a command. The payload ends at the first empty line, so empty lines in it are
 * dropped.
 */
export function requestWithPayload(text: string, payload: string): string {
  const lines = payload.split(/\r?\n/).filter((line) => line.trim() !== '')
  return `${text} <<\n${lines.join('\n')}\n\n`
}

/**
 * Returns the answer to one command: HAProxy ends each with an empty line. `undefined` when that end is missing, so
 * that the answer is incomplete.
 */
export function answerText(raw: string): string | undefined {
  if (raw === '\n') return ''
  return raw.endsWith('\n\n') ? raw.slice(0, -2) : undefined
}

const REFUSALS = [
  'Unknown command',
  "Can't find the target",
  'Permission denied',
  'No such ',
  'Invalid ',
  'Require ',
  "This command can't",
]

/**
 * HAProxy has no status code: a refusal is a sentence. Returns that sentence, or `undefined` for an ordinary answer.
 */
export function refusalOf(text: string): string | undefined {
  const first = text.trimStart().split('\n', 1)[0] ?? ''
  return REFUSALS.some((start) => first.startsWith(start)) ? first.trim() : undefined
}

/** Returns the value of one line of `show info`. */
export function infoField(text: string, name: string): string | undefined {
  return new RegExp(`^${name}: (.*)$`, 'm').exec(text)?.[1]
}

export interface WorkerProcess {
  readonly pid: number
  /** Number of reloads since this process was started. */
  readonly reloads: number
  readonly uptime_s: number | undefined
  readonly version: string | undefined
}

export interface ShowProc {
  readonly master: { readonly pid: number; readonly reloads: number; readonly failed: number }
  readonly workers: readonly WorkerProcess[]
  /** Processes of earlier configurations that still serve their last connections. */
  readonly oldWorkers: readonly WorkerProcess[]
}

/** Parses `0d01h02m03s` as seconds. */
function parseUptime(text: string | undefined): number | undefined {
  const match = /^(\d+)d(\d+)h(\d+)m(\d+)s$/.exec(text ?? '')
  if (match === null) return undefined
  const [, days, hours, minutes, seconds] = match.map(Number)
  return (days ?? 0) * 86_400 + (hours ?? 0) * 3_600 + (minutes ?? 0) * 60 + (seconds ?? 0)
}

/** Maps header names to columns: the set of columns differs between 2.0 and 3.x. */
function columnsOf(header: string): ReadonlyMap<string, number> {
  const names = header
    .slice(1)
    .replaceAll(/<relative PID>/g, '<relative>')
    .trim()
    .split(/\s+/)
  return new Map(names.map((name, index) => [name.replaceAll(/[<>]/g, '').toLowerCase(), index]))
}

function parseProcess(fields: readonly string[], columns: ReadonlyMap<string, number>): WorkerProcess | undefined {
  const field = (name: string): string | undefined => fields[columns.get(name) ?? -1]
  const pid = Number(field('pid'))
  if (!Number.isInteger(pid) || pid <= 0) return undefined
  const reloads = Number.parseInt(field('reloads') ?? '', 10)
  return {
    pid,
    reloads: Number.isNaN(reloads) ? 0 : reloads,
    uptime_s: parseUptime(field('uptime')),
    version: field('version'),
  }
}

/** Parses the answer to `show proc` of the master CLI; `undefined` for anything else, or when it has no master line. */
export function parseShowProc(text: string): ShowProc | undefined {
  const lines = text.split('\n')
  const header = lines.find((line) => line.startsWith('#<PID>'))
  if (header === undefined) return undefined
  const columns = columnsOf(header)
  let master: ShowProc['master'] | undefined
  const workers: WorkerProcess[] = []
  const oldWorkers: WorkerProcess[] = []
  let section = ''
  for (const line of lines) {
    if (line.startsWith('# ')) section = line.slice(2).trim()
    if (line.startsWith('#') || line.trim() === '') continue
    // The master's reload count is followed by "[failed: n]", which is no column.
    const failed = /\[failed: (\d+)\]/.exec(line)?.[1]
    const fields = line
      .replace(/\s*\[failed: \d+\]/, '')
      .trim()
      .split(/\s+/)
    const process = parseProcess(fields, columns)
    if (process === undefined) continue
    const type = fields[columns.get('type') ?? -1]
    if (type === 'master') master = { pid: process.pid, reloads: process.reloads, failed: Number(failed ?? 0) }
    else if (type === 'worker') (section === 'old workers' ? oldWorkers : workers).push(process)
  }
  return master === undefined ? undefined : { master, workers, oldWorkers }
}

/** System error codes of a socket on which no process listens any more, with their meaning. */
export const NOBODY_LISTENS = {
  ENOENT: 'its socket does not exist',
  ECONNREFUSED: 'it does not accept connections on its socket',
} as const
