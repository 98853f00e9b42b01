/** Counts words as HAProxy and chrony read a line: quotes and backslashes keep one word together. */
function wordsOf(line: string): number {
  return [...line.matchAll(/(?:"(?:\\.|[^"\\])*"|'[^']*'|\\.|[^\s"'\\])+/g)].length
}

/** A line that is not a whole value. */
class Torn extends Error {}

type Rule = (line: string) => string

function fitting(pattern: RegExp): Rule {
  return (line) => {
    if (!pattern.test(line)) throw new Torn(JSON.stringify(line))
    return line.split(/[\s=]/, 1)[0] ?? ''
  }
}

/** For each kind of file, the parts of a line that must not change, whatever its values. */
const RULES: readonly (readonly [file: RegExp, rule: Rule])[] = [
  [/haproxy\.cfg$/, (line) => `${line.trimStart().split(' ', 1)[0]} ${wordsOf(line)}`],
  [/chrony\.conf$/, (line) => `${line.split(' ', 1)[0]} ${wordsOf(line)}`],
  // Free text up to the end of the line; everything else is words.
  [
    /snmpd\.conf$/,
    (line) => (/^sys(Location|Contact) /.test(line) ? line.slice(0, 11) : `${line.split(' ', 1)[0]} ${wordsOf(line)}`),
  ],
  [/apt\.conf\.d\//, fitting(/^[A-Za-z:-]+ "[\x21\x23-\x5b\x5d-\x7e]*";$/)],
  [/proxy\.env$/, fitting(/^[A-Za-z_]+=[\x21\x23-\x26\x28-\x5b\x5d-\x7e]*$/)],
  [/proxy-bypass$/, (line) => (/^ {4}'/.test(line) ? fitting(/^ {4}'[A-Za-z0-9.:/*-]+',$/)(line) : line)],
  [/sysctl\.d\//, fitting(/^[a-z0-9._]+ = \d+$/)],
  [/sshd_config\.d\//, fitting(/^[A-Za-z]+ [\x21-\x7e]+$/)],
  [/fulcrum-maps\/.*\.acl$/, (line) => fitting(/^[0-9A-Fa-f.:/]+$/)(line) && 'address'],
  [/fulcrum-maps\/.*\.map$/, (line) => String(line.split(' ').length)],
  [/fulcrum-checks\/backend-/, (line) => `${line.split(' ', 1)[0]} ${wordsOf(line)}`],
  [/fulcrum-checks\//, (line) => line],
  [/modules-load\.d\//, (line) => line],
]

/** Returns the structure of a rendered file without the values: the same for harmless and for hostile ones. */
export function shapeOf(path: string, content: string): readonly string[] {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u0009\u000b-\u001f\u007f]/.test(content)) throw new Torn(`${path} holds a control character`)
  const rule = RULES.find(([file]) => file.test(path))?.[1]
  if (rule === undefined) throw new Error(`say what a line of ${path} is made of`)
  return content.split('\n').map((line) => (line === '' || /^\s*#/.test(line) ? '#' : rule(line)))
}
