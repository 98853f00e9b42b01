import type { SectionName } from '../../model/sections.ts'
import { isIpv6 } from './address.ts'

/** The record that a line of haproxy.cfg comes from. */
export interface Owner {
  readonly section: SectionName
  readonly id: string
  readonly field: string | undefined
}

/** One line of haproxy.cfg. Comments are separate, because changing only comments needs no reload. */
export interface Statement {
  readonly text: string
  readonly owner: Owner | undefined
  readonly kind: 'statement' | 'comment' | 'server'
}

/** A line of a proxy, and the field that it comes from. */
export type Line = readonly [text: string, field: string]

/** HAProxy accepts at most 64 words in a line. */
const VALUES_PER_LINE = 40

/** Splits values over as many lines as needed. */
export function inLines(values: readonly string[], lineOf: (some: string) => string): readonly string[] {
  return Array.from({ length: Math.ceil(values.length / VALUES_PER_LINE) }, (_, at) =>
    lineOf(values.slice(at * VALUES_PER_LINE, (at + 1) * VALUES_PER_LINE).join(' ')),
  )
}

export function textOf(statements: readonly Statement[]): string {
  return statements.map(({ text }) => `${text}\n`).join('')
}

/**
 * Quotes a word so that HAProxy reads it literally: single quotes preserve everything, including environment variables.
 */
export const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`

/** Quotes a text of several lines as one word: HAProxy reads \x0a outside of quotes as a line break. */
export function bodyOf(text: string): string {
  return (
    text
      // oxlint-disable-next-line no-control-regex -- control characters are what quotes do not keep
      .split(/([\u0001-\u001f\u007f])/)
      .map((part, at) =>
        at % 2 === 0 ? quoted(part) : String.raw`\x${part.charCodeAt(0).toString(16).padStart(2, '0')}`,
      )
      .join('')
  )
}

/** Like `quoted`, but without quotes where no character has a meaning. */
export const quote = (word: string): string => (/^[\w./:@,=*+-]+$/.test(word) ? word : quoted(word))

/** Makes lines of a section that come from this record, or comments among them. */
export const linesOf =
  (section: SectionName, id: string) =>
  (text: string, field?: string): Statement => ({
    text: `    ${text}`,
    owner: { section, id, field },
    kind: text.startsWith('#') ? 'comment' : 'statement',
  })

/** Makes a name safe for a comment line. */
export function commentText(name: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are exactly what may not reach the file
  return name.replaceAll(/[\u0000-\u001f\u007f\u0085\u2028\u2029]/g, ' ').trim()
}

/** Returns `address:port` as haproxy.cfg and the runtime API read it; without a port the client's port is used. */
export function endpointText(ip: string, port: number | null): string {
  const address = isIpv6(ip) ? `[${ip}]` : ip
  return port === null ? address : `${address}:${port}`
}
