import { fits } from './commands.ts'
import type { RowExpectation } from '../src/drivers/driver.ts'

/**
 * Compares a table, whose header line starts with `# `, with the expected rows. Returns the first difference, or
 * undefined.
 */
export function rowProblem(table: string, rows: readonly RowExpectation[]): string | undefined {
  const lines = unquoted(table).split('\n')
  const headerAt = lines.findIndex((line) => line.startsWith('# '))
  if (headerAt === -1) return table.trim() === '' ? 'there is no table' : table.trim()
  const header = (lines[headerAt] ?? '').slice(2).trim()
  // `show stat` is separated by commas, other tables by blanks.
  const separator = header.includes(',') ? ',' : ' '
  const names = separator === ',' ? header.split(separator) : header.split(/\s+/)
  // A table of 20,000 servers is searched for a few, so candidate lines are found before any is split.
  const body = lines.slice(headerAt + 1)
  for (const { where, columns } of rows) {
    const wanted = Object.entries(where)
    const label = Object.values(where).join(' ')
    const row = body
      .filter((line) => wanted.every(([, value]) => line.includes(value)))
      .map((line) => new Map(line.split(separator).map((cell, index) => [names[index], cell])))
      .find((cells) => wanted.every(([name, value]) => cells.get(name) === value))
    const problem = columns === undefined ? row && `${label} is still there` : cellProblem(row, label, columns)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Returns the lines that an answer lacks; undefined when it has all. */
export function lineProblem(answer: string, lines: readonly string[]): string | undefined {
  const found = new Set(answer.split('\n').map((line) => line.trim()))
  const missing = lines.find((line) => !found.has(line))
  return missing === undefined ? undefined : `there is no line "${missing}"`
}

/** Empties quoted cells, which may hold commas and line breaks and are never compared. */
const unquoted = (table: string): string => table.replaceAll(/"(?:[^"]|"")*"/g, '""')

function cellProblem(
  row: ReadonlyMap<string | undefined, string> | undefined,
  label: string,
  columns: Readonly<Record<string, readonly string[]>>,
): string | undefined {
  if (row === undefined) return `${label} is not there`
  const wrong = Object.entries(columns).find(([name, all]) => !all.some((one) => fits(row.get(name) ?? '', one)))
  if (wrong === undefined) return undefined
  const [name, accepted] = wrong
  return `${label} has ${name} ${row.get(name) ?? 'missing'} and not ${accepted.join(' or ')}`
}
