import { infoField } from '../../src/drivers/haproxy/cli.ts'
import { findHeader } from '../../src/drivers/haproxy/stats-csv.ts'

/** The identity and the statistics of one HAProxy process. */
export interface ProcessStats {
  readonly pid: number
  readonly uptime_s: number | undefined
  /** The raw answer; the statistics begin at `from`. */
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly from: number
  /** For a process that is new since the previous poll, if its version may begin with another process's counters. */
  readonly intake?: Intake | undefined
  /** Not polled every time: its gauges would flicker. */
  readonly isSporadic?: boolean | undefined
}

export interface Intake {
  /** Connections accepted since the process started, including those to its command socket. */
  readonly accepted: number
  /** Whether this version can count in memory shared by several processes. */
  readonly mayShare: boolean
}

/** The answer to `show info; show stat`. */
export interface ProcessAnswer extends ProcessStats {
  /** HAProxy's version as a number: 206 for 2.6. */
  readonly version: number
  /** The process accepts no connections and has none left: its figures are final. */
  readonly isDone: boolean
}

const decoder = new TextDecoder()

/** Far more than the output of `show info`, or of `show proc` with a thousand workers. */
const TEXT_BYTES_MAX = 256 * 1_024

/** Returns the text before the statistics in an answer of two commands; `undefined` when it contains no statistics. */
export function preamble(bytes: Uint8Array): { readonly text: string; readonly from: number } | undefined {
  const header = findHeader(bytes)
  if (header === undefined || header.start > TEXT_BYTES_MAX) return undefined
  return { text: decoder.decode(bytes.subarray(0, header.start)), from: header.start }
}

/**
 * Decodes an answer that should be short. A server that sends hundreds of megabytes is not HAProxy, and its answer is
 * never made a string.
 */
export function shortText(bytes: Uint8Array): string {
  return decoder.decode(bytes.subarray(0, TEXT_BYTES_MAX))
}

/** Versions (2.6 is 206) from which a process may begin with another one's counters, or share them. */
const FIRST_COPYING = 300
const FIRST_SHARING = 303

export function versionNumber(text: string | undefined): number {
  const match = /^(\d+)\.(\d+)/.exec(text ?? '')
  return match === null ? 0 : Number(match[1]) * 100 + Number(match[2])
}

/** Returns `undefined` where a process of this version has counted everything itself. */
export function intakeOf(version: number, accepted: number): Intake | undefined {
  return version < FIRST_COPYING ? undefined : { accepted, mayShare: version >= FIRST_SHARING }
}

/** Returns `undefined` when the answer has no statistics, or does not name their process. */
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
