/** Lists of package sources: the one-line form (*.list) and the one of paragraphs (*.sources). */

export interface SuiteChange {
  readonly from: string
  readonly to: string
}

/** The same sources with other suites; whatever else stands there stays, what is commented out as well. */
export function withSuites(text: string, file: string, suites: readonly SuiteChange[]): string {
  return changedLines(text, file, (suite) => suites.find(({ from }) => from === suite)?.to ?? suite)
}

/** The suites that are used. */
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

/** `deb [options] uri suite components…`. */
function oneLine(line: string, changed: Change): string {
  const match = /^(\s*deb(?:-src)?\s+(?:\[[^\]]*\]\s+)?\S+\s+)(\S+)(.*)$/.exec(line)
  if (match === null) return line
  const [, before = '', suite = '', after = ''] = match
  return `${before}${changed(suite)}${after}`
}

/** `Suites: one two`; the field goes on in lines that begin with a blank, and comments may stand between them. */
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
