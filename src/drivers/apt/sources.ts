/** Lists of package sources: the one-line form (*.list) and the one of paragraphs (*.sources). */

export interface SuiteChange {
  readonly from: string
  readonly to: string
}

/** The same sources with other suites; whatever else stands there stays, what is commented out as well. */
export function withSuites(text: string, file: string, suites: readonly SuiteChange[]): string {
  const changed = (suite: string) => suites.find(({ from }) => from === suite)?.to ?? suite
  return text
    .split('\n')
    .map((line) => (file.endsWith('.sources') ? paragraphLine(line, changed) : oneLine(line, changed)))
    .join('\n')
}

/** The suites that are used. */
export function suitesOf(text: string, file: string): readonly string[] {
  const found: string[] = []
  withSuitesSeen(text, file, (suite) => void found.push(suite))
  return [...new Set(found)]
}

function withSuitesSeen(text: string, file: string, see: (suite: string) => void): void {
  const seen = (suite: string) => {
    see(suite)
    return suite
  }
  for (const line of text.split('\n')) {
    if (file.endsWith('.sources')) paragraphLine(line, seen)
    else oneLine(line, seen)
  }
}

/** `deb [options] uri suite components…`. */
function oneLine(line: string, changed: (suite: string) => string): string {
  const match = /^(\s*deb(?:-src)?\s+(?:\[[^\]]*\]\s+)?\S+\s+)(\S+)(.*)$/.exec(line)
  if (match === null) return line
  const [, before = '', suite = '', after = ''] = match
  return `${before}${changed(suite)}${after}`
}

/** `Suites: one two`. */
function paragraphLine(line: string, changed: (suite: string) => string): string {
  const match = /^(suites:)(.*)$/i.exec(line)
  if (match === null) return line
  const [, name = '', suites = ''] = match
  return `${name}${suites.replaceAll(/\S+/g, changed)}`
}
