import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { Value } from 'typebox/value'
import { isOurs } from '../../../../src/drivers/fragment.ts'
import { mapFiles, mapFolder } from '../../../../src/drivers/haproxy/maps.ts'
import { byId, lineOwners, renderConfig } from '../../../../src/drivers/haproxy/render.ts'
import { verifyConfig } from '../../../../src/drivers/haproxy/verify.ts'
import { type ConfigView, SECTIONS } from '../../../../src/model/sections.ts'
import { backend, frontend, realServer } from '../../../fixtures/config.ts'
import { PATHS, type Records, viewOf } from './records.ts'

const GOLDEN = new URL('../../../golden/haproxy/', import.meta.url)
const folder = mkdtempSync(join(tmpdir(), 'fulcrum-render-'))
t.teardown(() => rmSync(folder, { recursive: true }))

function accepted(view: ConfigView): void {
  const paths = { ...PATHS, configFile: join(folder, 'haproxy.cfg') }
  const files = [{ path: paths.configFile, content: renderConfig(view, paths) }, ...mapFiles(view, paths)]
  mkdirSync(mapFolder(paths), { recursive: true })
  for (const { path, content } of files) writeFileSync(path, content)
  execFileSync('haproxy', ['-c', '-f', paths.configFile], { stdio: 'pipe' })
}

for (const name of readdirSync(GOLDEN).filter((file) => file.endsWith('.json'))) {
  t.test(`golden ${name}`, (t) => {
    const records: Required<Records> = JSON.parse(readFileSync(new URL(name, GOLDEN), 'utf8'))
    for (const section of ['realServers', 'l7Frontends', 'l7Backends'] as const) {
      for (const record of records[section]) {
        t.ok(Value.Check(SECTIONS[section].schema, record), `${section} ${record.id} fits its schema`)
      }
    }
    const view = viewOf(records)
    t.strictSame(verifyConfig(view, PATHS), [], 'the driver finds no problem')
    const text = renderConfig(view, PATHS)
    t.equal(text, readFileSync(new URL(name.replace('.json', '.cfg'), GOLDEN), 'utf8'))
    accepted(view)
    t.equal(lineOwners(view, PATHS).length, text.split('\n').length - 1, 'every line is accounted for')
    t.end()
  })
}

t.test('the order in which records are listed does not matter', (t) => {
  const l7Backends = [backend('b', ['r1']), backend('a', ['r1'])]
  const realServers = [realServer('r1')]
  const text = renderConfig(viewOf({ realServers, l7Backends }), PATHS)
  t.equal(renderConfig(viewOf({ realServers, l7Backends: l7Backends.toReversed() }), PATHS), text)
  t.strictSame(
    byId([{ id: 'b' }, { id: 'a' }]).map(({ id }) => id),
    ['a', 'b'],
  )
  t.end()
})

t.test('lines are traced to records', (t) => {
  const view = viewOf({
    realServers: [realServer('r1')],
    l7Frontends: [frontend('f', 'b')],
    l7Backends: [backend('b', ['r1'], { fallback: { ip: '127.0.0.1', port: 9 } })],
  })
  const lines = renderConfig(view, PATHS).split('\n')
  const owners = lineOwners(view, PATHS)
  const ownerOf = (text: string) => owners[lines.findIndex((line) => line.trim().startsWith(text))]
  t.strictSame(ownerOf('bind'), { section: 'l7Frontends', id: 'f', field: 'ports' })
  t.strictSame(ownerOf('balance'), { section: 'l7Backends', id: 'b', field: 'balance' })
  t.strictSame(ownerOf('server r1'), { section: 'l7Backends', id: 'b', field: 'reals.r1' })
  t.strictSame(ownerOf('server fallback'), { section: 'l7Backends', id: 'b', field: 'fallback' })
  t.equal(ownerOf('global'), undefined)
  t.end()
})

t.test('the file is recognised as ours', (t) => {
  t.ok(isOurs(renderConfig(viewOf({}), PATHS)))
  t.end()
})

t.test('the account of the workers is set where there is one', (t) => {
  const text = renderConfig(viewOf({}), { ...PATHS, runAs: { user: 'haproxy', group: 'haproxy' } })
  t.match(text, /^ {4}user haproxy\n {4}group haproxy$/m)
  t.end()
})
