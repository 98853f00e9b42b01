import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Test } from 'tap'
import type { JournalEntry } from '../../workers/host/recording-host.ts'
import { machineState } from '../contract/node-settings.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { EVERY, HOSTILE, isTorn, LEADING, LONG } from './hostile-texts.ts'
import { loggedFixture } from './raw-fixture.ts'
import { shapeOf } from './rendered-shape.ts'
import { must, texts, wholeNode } from './whole-node.ts'

const APT_CONFIG = '/usr/bin/apt-config'
const ALL = [...HOSTILE, ...LEADING, ...LONG]

/** Files and settings by name: anything that is not a file is a setting of the kernel or the machine. */
function files(journal: readonly JournalEntry[]): ReadonlyMap<string, string> {
  const all = Object.entries(machineState(journal)).filter(([name]) => name.startsWith('/'))
  return new Map(all.map(([path, content]) => [path, String(content)]))
}

function checkedByPrograms(folder: string, rendered: ReadonlyMap<string, string>): string | undefined {
  const content = (end: string) => [...rendered].find(([path]) => path.endsWith(end))?.[1] ?? ''
  const file = join(folder, 'checked')
  // HAProxy reads its maps when it checks, and here only the journal has them.
  const maps = join(folder, 'maps')
  mkdirSync(maps, { recursive: true })
  for (const [path, text] of rendered)
    if (path.includes('/fulcrum-maps/')) writeFileSync(join(maps, basename(path)), text)
  writeFileSync(file, content('haproxy.cfg').replaceAll(/\/[\w./-]+\/fulcrum-maps\//g, `${maps}/`))
  if (existsSync('/usr/sbin/haproxy')) {
    const { status, stderr } = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' })
    if (status !== 0) return `haproxy: ${stderr}`
  }
  writeFileSync(file, content('95fulcrum-proxy'))
  if (existsSync(APT_CONFIG)) {
    const dump = execFileSync(APT_CONFIG, ['-c', file, 'dump', 'Acquire::http::Proxy', 'Acquire::https::Proxy'], {
      encoding: 'utf8',
    })
    if (dump.split('\n').filter((line) => /^Acquire::https?::Proxy "/.test(line)).length !== 2) return `apt: ${dump}`
  }
  return undefined
}

/** Whatever a text field holds, a value in a rendered file stays one value, and a command keeps one argument. */
export async function inject(test: Test): Promise<void> {
  const { call, node, machine, lines, state } = await loggedFixture(test)
  const folder = temporaryFolder(test, 'rendered')
  const changes = await wholeNode(test, call, node)
  const journal: JournalEntry[] = [...machine.host.journal]
  const shapes = new Map([...files(journal)].map(([path, content]) => [path, shapeOf(path, content)]))
  test.ok(shapes.size >= 9, `rendered: ${[...shapes.keys()].join()}`)
  const counts = { taken: 0, refused: 0, applied: 0 }
  const dirty = new Set<(typeof changes)[number]>()
  const wrong: string[] = []
  for (const [index, text] of ALL.entries()) {
    await must(call, [...dirty])
    dirty.clear()
    for (const [number, change] of changes.entries()) {
      let { body } = change
      for (const [nth, { at }] of [...texts(change.body)].entries()) {
        // A text that occurs twice in a list is one entry; hashes are slow.
        if (at.endsWith('.1') || (/pass(word|phrase)$/i.test(at) && index % 4 > 0) || /^(cert|privateKey)$/.test(at))
          continue
        if ((index + number + nth) % EVERY > 0) continue
        const place = [...texts(body)].find((candidate) => candidate.at === at)
        const sent = place?.with(text) as typeof body
        const { status, headers, text: answer } = await call(change.method, change.path, { body: sent })
        if (status >= 500 || /[\r\n]/.test(Object.values(headers).join('')))
          wrong.push(`${change.name} ${at}: ${answer}`)
        if (status >= 300) counts.refused += 1
        else {
          counts.taken += 1
          body = sent
          dirty.add(change)
        }
      }
    }
    const body = text.length > 1000 ? {} : { comment: text }
    const applied = await call('PUT', '/services/apply', { body })
    journal.push(...machine.host.journal.slice(journal.length))
    if (applied.status >= 300 && applied.status !== 422)
      wrong.push(`apply of ${JSON.stringify(text.slice(0, 40))}: ${applied.text}`)
    else if (applied.status < 300) counts.applied += 1
    else await call('DELETE', '/services/pending')
    wrong.push(...tornFiles(journal, shapes, text))
    const complaint = index % 4 === 0 ? checkedByPrograms(folder, files(journal)) : undefined
    if (complaint !== undefined) wrong.push(`${JSON.stringify(text)}: ${complaint}`)
  }
  test.same(wrong, [])
  test.comment(`${changes.length} kinds of records, ${ALL.length} texts: ${JSON.stringify(counts)}`)
  test.ok(counts.taken > 500 && counts.applied > HOSTILE.length / 2, 'many of them are plain text in their place')
  const words = journal.flatMap((entry) => (entry.verb === 'run' ? entry.argv : []))
  test.ok(words.length > 100, `${words.length} words`)
  test.same(words.filter(isTorn), [])
  for (const line of lines) test.type(JSON.parse(line).message, 'string')
  test.ok(
    lines.every((line) => line.indexOf('\n') === line.length - 1),
    'one line for each log entry',
  )
  for (const file of globSync(`${state}/audit/*`).filter((path) => !path.endsWith('mdb')))
    for (const line of readFileSync(file, 'utf8')
      .split('\n')
      .filter((text) => text.startsWith('{')))
      JSON.parse(line)
}

function tornFiles(
  journal: readonly JournalEntry[],
  shapes: ReadonlyMap<string, readonly string[]>,
  text: string,
): readonly string[] {
  return [...files(journal)].flatMap(([path, content]) => {
    try {
      const [shape, expected] = [shapeOf(path, content), shapes.get(path) ?? []]
      const at = shape.findIndex((line, index) => line !== expected[index])
      if (at === -1 && shape.length === expected.length) return []
      return [`${path} with ${JSON.stringify(text)}: ${JSON.stringify(content.split('\n')[at])}`]
    } catch (error) {
      return [`${path} with ${JSON.stringify(text)}: ${String(error)}`]
    }
  })
}
