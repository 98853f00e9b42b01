import type { RowExpectation } from '../src/drivers/driver.ts'

/** How a table whose header line starts with `# ` differs from what its rows must hold; undefined when it does not. */
export function rowProblem(table: string, rows: readonly RowExpectation[]): string | undefined {
  const lines = table.split('\n')
  const headerAt = lines.findIndex((line) => line.startsWith('# '))
  if (headerAt === -1) return table.trim() === '' ? 'there is no table' : table.trim()
  const names = (lines[headerAt] ?? '').slice(2).trim().split(/\s+/)
  const cells = lines.slice(headerAt + 1).map((line) => line.split(' '))
  const cell = (row: readonly string[], name: string): string | undefined => row[names.indexOf(name)]
  for (const { where, columns } of rows) {
    const row = cells.find((candidate) =>
      Object.entries(where).every(([name, value]) => cell(candidate, name) === value),
    )
    const label = Object.values(where).join(' ')
    if (columns === undefined) {
      if (row !== undefined) return `${label} is still there`
      continue
    }
    if (row === undefined) return `${label} is not there`
    for (const [name, accepted] of Object.entries(columns)) {
      const value = cell(row, name)
      if (value === undefined || !accepted.includes(value))
        return `${label} has ${name} ${value ?? 'missing'}, not ${accepted[0]}`
    }
  }
  return undefined
}
