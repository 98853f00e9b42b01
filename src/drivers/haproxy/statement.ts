import type { SectionName } from '../../model/sections.ts'
import { isIpv6 } from './address.ts'

/** The record that a line of haproxy.cfg comes from. */
export interface Owner {
  readonly section: SectionName
  readonly id: string
  readonly field: string | undefined
}

/** One line of haproxy.cfg. Comments are kept apart, because a change of comments alone needs no reload. */
export interface Statement {
  readonly text: string
  readonly owner: Owner | undefined
  readonly kind: 'statement' | 'comment' | 'server'
}

/** What a line of a proxy says, and the field that it comes from. */
export type Line = readonly [text: string, field: string]

/** A line of HAProxy has 64 words at the most. */
const VALUES_PER_LINE = 40

/** As many lines as the values need, each with some of them. */
export function inLines(values: readonly string[], lineOf: (some: string) => string): readonly string[] {
  return Array.from({ length: Math.ceil(values.length / VALUES_PER_LINE) }, (_, at) =>
    lineOf(values.slice(at * VALUES_PER_LINE, (at + 1) * VALUES_PER_LINE).join(' ')),
  )
}

export function textOf(statements: readonly Statement[]): string {
  return statements.map(({ text }) => `${text}\n`).join('')
}

/** A word as HAProxy reads it literally: single quotes keep everything, environment variables included. */
export const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`

/** A text of several lines as one word: outside of quotes, HAProxy reads \x0a as the end of a line. */
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

/** The same, without quotes where nothing in it means anything. */
export const quote = (word: string): string => (/^[\w./:@,=*+-]+$/.test(word) ? word : quoted(word))

/** Lines of a section that come from this record, or comments among them. */
export const linesOf =
  (section: SectionName, id: string) =>
  (text: string, field?: string): Statement => ({
    text: `    ${text}`,
    owner: { section, id, field },
    kind: text.startsWith('#') ? 'comment' : 'statement',
  })

/** A name that people gave, made safe for a comment line. */
export function commentText(name: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are exactly what may not reach the file
  return name.replaceAll(/[\u0000-\u001f\u007f\u0085\u2028\u2029]/g, ' ').trim()
}

/** `address:port` as haproxy.cfg and the runtime API read it; without a port the port of the client is used. */
export function endpointText(ip: string, port: number | null): string {
  const address = isIpv6(ip) ? `[${ip}]` : ip
  return port === null ? address : `${address}:${port}`
}
