/** Output for people. */

export type Row = Readonly<Record<string, string>>

const COLOURS = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 } as const
export type Colour = keyof typeof COLOURS

/** Colours a text if the terminal supports it. */
export function coloured({ hasColour }: { readonly hasColour: boolean }, colour: Colour, text: string): string {
  return hasColour ? `\u001b[${COLOURS[colour]}m${text}\u001b[0m` : text
}

/** Clears the screen. */
export const CLEAR = '\u001b[H\u001b[J'

/** Control characters beyond the first 32: they move the cursor or reverse the text direction. */
const MORE = String.raw`\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069`
const STEERS_A_LINE = new RegExp(String.raw`[\u0000-\u001f${MORE}]`, 'g')
/** The same without line feeds and tabs. */
const STEERS = String.raw`[\u0000-\u0008\u000b-\u001f${MORE}]`
const STEERS_LINES = new RegExp(STEERS, 'g')
const OWN = String.raw`\u001b\[(?:0|${Object.values(COLOURS).join('|')})m|\u001b\[H\u001b\[J`
const OWN_OR_STEERS = new RegExp(`${OWN}|${STEERS}`, 'g')

/**
 * Replaces control characters in one line: names are written by others, and must not move the cursor or reverse the
 * text.
 */
export const printable = (text: string): string => text.replace(STEERS_A_LINE, '\ufffd')

/** Does the same for a text of several lines. */
export const printableLines = (text: string): string => text.replace(STEERS_LINES, '\ufffd')

/** Does the same for a screen, but keeps the sequences that this program writes itself. */
export const printableScreen = (text: string): string =>
  text.replace(OWN_OR_STEERS, (found) => (found.length > 1 ? found : '\ufffd'))

const wide = new Intl.Segmenter(undefined, { granularity: 'grapheme' })
/** Returns the width of a text in columns: two for East Asian wide characters and pictures. */
export function widthOf(text: string): number {
  let width = 0
  for (const { segment } of wide.segment(text))
    width +=
      /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u.test(
        segment,
      )
        ? 2
        : 1
  return width
}

function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let [kept, used] = ['', 0]
  for (const { segment } of wide.segment(text)) {
    used += widthOf(segment)
    if (used > width - 1) break
    kept += segment
  }
  return `${kept}…`
}

const GAP = 2
/** A narrower column is unreadable. */
const COLUMN_MIN = 8

/**
 * Returns a table that fits: the widest columns are narrowed and, if that does not suffice, the last ones are left out.
 */
export function table(rows: readonly Row[], columns: readonly string[], width: number | undefined): string {
  const cells = [
    columns.map((name) => name.toUpperCase()),
    ...rows.map((row) => columns.map((name) => printable(row[name] ?? ''))),
  ]
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => widthOf(row[at] ?? ''))))
  let over = width === undefined ? 0 : widths.reduce((sum, one) => sum + one + GAP, -GAP) - width
  while (over > 0) {
    const widest = widths.indexOf(Math.max(...widths))
    if ((widths[widest] ?? 0) <= COLUMN_MIN) break
    widths[widest] = (widths[widest] ?? 0) - 1
    over -= 1
  }
  while (over > 0 && widths.length > 1) over -= (widths.pop() ?? 0) + GAP
  const line = (row: readonly string[]) =>
    widths.map((room, at) => {
      const fitting = cut(row[at] ?? '', room)
      return fitting + ' '.repeat(room - widthOf(fitting))
    })
  return cells.map((row) => `${line(row).join(' '.repeat(GAP)).trimEnd()}\n`).join('')
}

const BARS = '▁▂▃▄▅▆▇█'

/** One bar per value, or per mean of several if there are more than `bars`; a gap for unknown values. */
export function sparkline(values: readonly (number | null)[], bars = values.length): string {
  const shown = values.length <= bars ? values : means(values, bars)
  const highest = Math.max(...shown.map(Number), 0)
  return shown
    .map((value) => (value === null ? ' ' : (BARS[highest === 0 ? 0 : Math.round((value / highest) * 7)] ?? '')))
    .join('')
}

function means(values: readonly (number | null)[], parts: number): readonly (number | null)[] {
  const start = (part: number) => Math.floor((part * values.length) / parts)
  return Array.from({ length: parts }, (_, part) => meanOf(values.slice(start(part), start(part + 1))))
}

/** Returns the mean of the known values; null if there are none. */
export function meanOf(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length
}

const UNITS = ['', 'k', 'M', 'G', 'T', 'P'] as const

/** Formats a number in about four characters. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined) return '-'
  let [left, unit] = [value, 0]
  while (Math.abs(left) >= 1000 && unit < UNITS.length - 1) {
    left /= 1000
    unit += 1
  }
  return `${Math.abs(left) >= 100 || Number.isInteger(left) ? Math.round(left) : left.toFixed(1)}${UNITS[unit]}`
}

const SPANS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const

/** Formats a time span in one unit, of which it has as many whole ones. */
export function span(seconds: number): string {
  const [unit, length] = SPANS.find(([, one]) => Math.abs(seconds) >= one) ?? SPANS[3]
  return `${Math.trunc(seconds / length)} ${unit}`
}
