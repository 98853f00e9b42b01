import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { endpoints } from './attack-fixture.ts'

const ROOT = join(import.meta.dirname, '../..')

interface Found {
  readonly where: string
  readonly source: string
  readonly flags: string
}

/**
 * Returns the regular expressions of a source, as written: after a token that can precede an expression, up to the
 * closing slash.
 */
function* writtenIn(file: string): Generator<Found> {
  const text = readFileSync(join(ROOT, file), 'utf8')
  for (const [, , source = '', flags = ''] of text.matchAll(
    /(^|[=(,:[?&|!;{}]|return|=>)\s*\/((?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/([dgimsuvy]*)(?=[\s.,;)\]}:])/gm,
  )) {
    try {
      if (new RegExp(source, flags).source === '') continue
    } catch {
      continue
    }
    yield { where: file, source, flags }
  }
}

function* patternsOf(schema: unknown, where: string): Generator<Found> {
  if (typeof schema !== 'object' || schema === null) return
  for (const [key, value] of Object.entries(schema))
    if (key === 'pattern' && typeof value === 'string') yield { where, source: value, flags: 'u' }
    else yield* patternsOf(value, where)
}

/** Texts that the expression itself names, and some that match often. */
function partsFor({ source }: Found): readonly string[] {
  const literal = [...source.replaceAll(/\\[dwsSWDbBux]|[\^$()[\]{}?*+|]/g, ' ').matchAll(/[^\s\\]+/g)].map(([part]) =>
    part.slice(0, 12),
  )
  return [
    ...new Set([
      ...literal,
      'a',
      '0',
      ' ',
      '\t',
      '.',
      '-',
      '/',
      ':',
      ',',
      '"',
      '\\',
      '=',
      'a ',
      '0.',
      'a-',
      '\n',
      '<a',
    ]),
  ].slice(0, 26)
}
const ENDS = ['', '!', '\u0001', '\n!', ' x']

function took_ms(expression: RegExp, text: string): number {
  const from = performance.now()
  expression.lastIndex = 0
  if (expression.global) for (const match of text.matchAll(expression)) void match
  else expression.test(text)
  return performance.now() - from
}

/** Slower expressions are measured again, with half of the text. */
const SUSPICIOUS_MS = 15
const LENGTH = 30_000

/**
 * Quadratic, but for short input: output of programs of this machine, or limited beforehand (an address has 45
 * characters, a host name 253).
 */
const SHORT_TEXTS_ONLY: ReadonlySet<string> = new Set([
  'src/drivers/haproxy/cli.ts',
  'src/base/ip-network.ts',
  'workers/host/control-socket.ts',
  'workers/host/settings/timezone.ts',
  'workers/host/settings/unit-enabled.ts',
  'workers/probe/ping.ts',
])

const isMore = (half_ms: number, whole_ms: number) => whole_ms > SUSPICIOUS_MS && whole_ms > 3 * half_ms

/**
 * Returns why an expression is too slow; undefined when it is not. A linear one takes half of the time for half of the
 * text, a quadratic one a quarter.
 */
function slowness({ source, flags, ...found }: Found): string | undefined {
  const expression = new RegExp(source, flags)
  // Every time: on a busy machine anything is slow once.
  const isOver = (limit_ms: number, text: string) => [1, 2, 3, 4].every(() => took_ms(expression, text) > limit_ms)
  for (const part of partsFor({ source, flags, ...found }))
    for (const end of ENDS) {
      const named = `/${source}/${flags} with ${JSON.stringify(part)} and ${JSON.stringify(end)}`
      // A longer text would never end for an exponential expression.
      if (isOver(500, part.repeat(24) + end)) return `${named}: exponential`
      const text = part.repeat(LENGTH / part.length) + end
      if (isOver(200, text.slice(-4000))) return `${named}: far too slow`
      if (took_ms(expression, text) < SUSPICIOUS_MS) continue
      const best = (length: number) => Math.min(...[1, 2, 3, 4, 5].map(() => took_ms(expression, text.slice(-length))))
      const looks = [1, 2, 3, 4].map(() => () => [best(LENGTH / 2), best(LENGTH)] as const)
      if (looks.every((look) => isMore(...look()))) return `${named}: more than twice the time for twice as much`
    }
  return undefined
}

t.test('ReDoS: no regular expression of the schemas and sources takes much more than linear time', (test) => {
  const files = globSync('{src,workers,storage}/**/*.ts', { cwd: ROOT })
  const written = files.flatMap((file) => [...writtenIn(file)])
  const schemas = endpoints.flatMap(({ name, body, query }) => [...patternsOf(body, name), ...patternsOf(query, name)])
  const known = new Map([...written, ...schemas].map((found) => [`${found.source}/${found.flags}`, found]))
  test.ok(written.length > 90, `${written.length} in sources`)
  for (const found of known.values()) {
    if (SHORT_TEXTS_ONLY.has(found.where)) continue
    test.equal(slowness(found), undefined, found.where)
  }
  test.comment(
    `${written.length} expressions in sources, ${schemas.length} patterns of schemas, ${known.size} different ones`,
  )
  test.end()
})
