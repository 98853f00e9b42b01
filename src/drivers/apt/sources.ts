/** Package sources come in a one-line form (*.list) and in paragraphs (*.sources). */

export interface SuiteChange {
  readonly from: string
  readonly to: string
}

/** Returns the same text with other suites; everything else stays, including commented lines. */
export function withSuites(text: string, file: string, suites: readonly SuiteChange[]): string {
  return changedLines(text, file, (suite) => suites.find(({ from }) => from === suite)?.to ?? suite)
}

/** Returns the suites in use. */
export function suitesOf(text: string, file: string): readonly string[] {
  const found = new Set<string>()
  changedLines(text, file, (suite) => {
    found.add(suite)
    return suite
  })
  return [...found]
}

type Change = (suite: string) => string

function changedLines(text: string, file: string, changed: Change): string {
  const lines = text.split('\n')
  return (file.endsWith('.sources') ? paragraphs(lines, changed) : lines.map((line) => oneLine(line, changed))).join(
    '\n',
  )
}

/** Changes a line `deb [options] uri suite components…`. */
function oneLine(line: string, changed: Change): string {
  const match = /^(\s*deb(?:-src)?\s+(?:\[[^\]]*\]\s+)?\S+\s+)(\S+)(.*)$/.exec(line)
  if (match === null) return line
  const [, before = '', suite = '', after = ''] = match
  return `${before}${changed(suite)}${after}`
}

/**
 * Changes fields `Suites: one two`; a field continues in lines that begin with a blank, and comments may be in between.
 */
function paragraphs(lines: readonly string[], changed: Change): readonly string[] {
  let isOfSuites = false
  return lines.map((line) => {
    if (line.startsWith('#')) return line
    const goesOn = /^[ \t]/.test(line)
    if (!goesOn) isOfSuites = /^suites:/i.test(line)
    if (!isOfSuites) return line
    const at = goesOn ? 0 : line.indexOf(':') + 1
    return `${line.slice(0, at)}${line.slice(at).replaceAll(/\S+/g, changed)}`
  })
}
