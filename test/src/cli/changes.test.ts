import t from 'tap'
import { type Change, tell, untilTakenBack } from '../../../src/cli/changes.ts'
import type { Connection } from '../../../src/cli/connection.ts'
import type { Terminal } from '../../../src/cli/terminal.ts'

const KNOWN = '01a21454-2047-7000-9c39-a050984a2877'
const change = (more: Partial<Change>): Change => ({
  op: 'update',
  resource: 'l7Backends',
  resourceId: '01a21454-2047-7000-9c39-a050984a2888',
  name: 'shop',
  before: null,
  after: null,
  effect: 'runtime',
  services: [],
  ...more,
})

async function told(changes: readonly Change[], isWide = false, asked: string[] = []) {
  let out = ''
  const connection = {
    list: async (path: string) => {
      asked.push(path)
      return path.endsWith('/rips') ? [{ id: KNOWN, name: 'web1' }] : []
    },
  }
  const terminal = { out: (text: string) => (out += text), hasColour: false }
  const changed = { changes, warnings: [{ code: 'REMARK', message: 'look' }] }
  await tell(changed, {
    connection: connection as unknown as Connection,
    terminal: terminal as unknown as Terminal,
    isWide,
  })
  return out
}

t.test('fields are shown by their paths, ids by names, deletions first', async (test) => {
  const update = change({
    before: { reals: [{ ripId: KNOWN, weight: 5 }], page: 'a\nb', gone: 1 },
    after: { reals: [{ ripId: KNOWN, weight: 7 }, { ripId: KNOWN }], page: 'c', empty: [] },
    effect: 'reload',
    services: ['layer7proxy'],
  })
  test.equal(
    await told([update, change({ op: 'delete', name: 'old\u001b' })]),
    [
      '- l7Backends old\ufffd',
      '~ l7Backends shop  (reload)',
      '    reals.0.weight: 5 → 7',
      '    page: a\\nb → c',
      '    gone: 1 → (none)',
      '    reals.1.ripId: web1',
      '    empty: []',
      '! REMARK look',
      '0 to create, 1 to change, 1 to delete, with a reload or restart of layer7proxy.',
      '',
    ].join('\n'),
  )
  test.match(await told([]), /Nothing would change\.\n$/)
  const page = `${'x'.repeat(159)}\u{1f600}`
  test.match(
    await told([change({ before: {}, after: { page } })]),
    `    page: ${'x'.repeat(159)}…\n`,
    'no half of a picture',
  )
})

t.test('names are requested only where ids are shown', async (test) => {
  const [one, none] = [{ reals: [{ ripId: KNOWN }], weight: 1 }, null]
  const asked: string[] = []
  const create = change({ op: 'create', before: none, after: one })
  const update = change({ before: one, after: { ...one, weight: 2 } })
  const out = await told([create, update, change({ op: 'delete', before: one, after: none })], false, asked)
  test.match(out, /1 to create, 1 to change, 1 to delete/)
  test.same(asked, [])
  test.match(await told([create], true, asked), /reals\.0\.ripId: web1\n/)
  test.equal(asked.length, 7)
})

t.test('an apply whose time has passed needs no confirmation', (test) => {
  test.equal(untilTakenBack(5), 'is reverted in 5 s unless you run: fulcrum confirm')
  test.equal(untilTakenBack(0), 'was not confirmed in time and is being reverted')
  test.end()
})
