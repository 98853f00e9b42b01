import { infoField } from '../../src/drivers/haproxy/cli.ts'
import { findHeader } from '../../src/drivers/haproxy/stats-csv.ts'

/** What one process of HAProxy says of itself and of what it has counted. */
export interface ProcessStats {
  readonly pid: number
  readonly uptime_s: number | undefined
  /** The answer as it came; the statistics begin at `from`. */
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly from: number
  /** For a process that was not there at the previous poll, if its version may begin with counters of another one. */
  readonly intake?: Intake | undefined
  /** It is not asked at every poll: what it holds at this moment would come and go. */
  readonly isSporadic?: boolean | undefined
}

export interface Intake {
  /** Connections that the process has accepted since its start, those of its command socket included. */
  readonly accepted: number
  /** Whether this version can count in memory that several processes share. */
  readonly mayShare: boolean
}

/** The answer to `show info; show stat`. */
export interface ProcessAnswer extends ProcessStats {
  /** Its version as a number: 206 for 2.6. */
  readonly version: number
  /** It takes no connections any more and has none: nothing can be added to its figures. */
  readonly isDone: boolean
}

const decoder = new TextDecoder()

/** `show proc` of a thousand workers and `show info` are far shorter. */
const TEXT_BYTES_MAX = 256 * 1_024

/** What precedes the statistics in an answer of two commands; `undefined` when there are no statistics in it. */
export function preamble(bytes: Uint8Array): { readonly text: string; readonly from: number } | undefined {
  const header = findHeader(bytes)
  if (header === undefined || header.start > TEXT_BYTES_MAX) return undefined
  return { text: decoder.decode(bytes.subarray(0, header.start)), from: header.start }
}

/**
 * An answer that should be short. A server that answers with hundreds of megabytes is not HAProxy, and its answer is
 * not made a string.
 */
export function shortText(bytes: Uint8Array): string {
  return decoder.decode(bytes.subarray(0, TEXT_BYTES_MAX))
}

/** Versions as numbers (2.6 is 206): from these on a process may begin with counters of another one, or share them. */
const FIRST_COPYING = 300
const FIRST_SHARING = 303

export function versionNumber(text: string | undefined): number {
  const match = /^(\d+)\.(\d+)/.exec(text ?? '')
  return match === null ? 0 : Number(match[1]) * 100 + Number(match[2])
}

/** `undefined` where a process of this version has counted everything itself. */
export function intakeOf(version: number, accepted: number): Intake | undefined {
  return version < FIRST_COPYING ? undefined : { accepted, mayShare: version >= FIRST_SHARING }
}

/** `undefined` when there are no statistics in it, or it does not say of which process they are. */
export function readAnswer(bytes: Uint8Array<ArrayBuffer>): ProcessAnswer | undefined {
  const head = preamble(bytes)
  if (head === undefined) return undefined
  const field = (name: string): number | undefined => {
    const value = Number(infoField(head.text, name))
    return Number.isNaN(value) ? undefined : value
  }
  const pid = field('Pid')
  if (pid === undefined) return undefined
  const version = versionNumber(infoField(head.text, 'Version'))
  return {
    pid,
    uptime_s: field('Uptime_sec'),
    bytes,
    from: head.from,
    intake: intakeOf(version, field('CumConns') ?? 0),
    version,
    isDone: field('Stopping') !== 0 && field('CurrConns') === 0,
  }
}
