import t from 'tap'
import { type Change, tell } from '../../../src/cli/changes.ts'
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

async function told(changes: readonly Change[], isWide = false) {
  let out = ''
  const connection = { list: async (path: string) => (path.endsWith('/rips') ? [{ id: KNOWN, name: 'web1' }] : []) }
  const terminal = { out: (text: string) => (out += text), hasColour: false }
  const changed = { changes, warnings: [{ code: 'REMARK', message: 'look' }] }
  await tell(changed, {
    connection: connection as unknown as Connection,
    terminal: terminal as unknown as Terminal,
    isWide,
  })
  return out
}

t.test('fields are told by their places, ids by names, deletions first', async (test) => {
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
      '    gone: 1 → nothing',
      '    reals.1.ripId: web1',
      '    empty: []',
      '! REMARK look',
      '0 to create, 1 to change, 1 to delete, with a reload or restart of layer7proxy.',
      '',
    ].join('\n'),
  )
  test.match(await told([]), /Nothing would change\.\n$/)
})
