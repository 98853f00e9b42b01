import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Origin } from '../../../storage/config/config-store.ts'
import { LmdbConfigStore } from '../../../storage/config/lmdb-config-store.ts'
import { discardIn, promoteIn, stageIn } from '../../fixtures/entries.ts'

const origin: Origin = { actor: 'tester', endpoint: 'test.write', at: '2026-01-02T03:04:05.000Z' }
const at = (key: string) => ({ section: 'things', scope: '', key })
const header = (revision: number) => ({
  applyId: `apply-${revision}`,
  revision,
  by: 'tester',
  at: origin.at,
  comment: '',
})

async function withStore(test: Test, work: (open: () => LmdbConfigStore) => Promise<void>) {
  const directory = mkdtempSync(join(tmpdir(), 'fulcrum-config-'))
  test.teardown(() => rmSync(directory, { recursive: true, force: true }))
  await work(() => new LmdbConfigStore(directory))
}

async function promoteAll(store: LmdbConfigStore) {
  await promoteIn(store, store.changes(), header(store.revision + 1))
}

t.test('a staged record is in the candidate, not in running, and survives a reopening', (test) =>
  withStore(test, async (open) => {
    const store = open()
    await stageIn(store, [{ ...at('a'), value: { n: 1 } }], origin)
    test.same(store.candidate.get('things', '', 'a')?.value, { n: 1 })
    test.equal(store.running.get('things', '', 'a'), undefined)
    await store.close()
    const again = open()
    test.same(again.candidate.get('things', '', 'a')?.value, { n: 1 })
    test.match(again.changes(), [{ key: 'a', actor: 'tester', endpoint: 'test.write' }])
    await again.close()
  }),
)

t.test('a change and its exact reversal is no change', (test) =>
  withStore(test, async (open) => {
    const store = open()
    await stageIn(store, [{ ...at('a'), value: { n: 1, list: ['x'] } }], origin)
    await promoteAll(store)
    await stageIn(store, [{ ...at('a'), value: { n: 2, list: ['x'] } }], origin)
    test.equal(store.changes().length, 1)
    await stageIn(store, [{ ...at('a'), value: { n: 1, list: ['x'] } }], origin)
    test.same(store.changes(), [])
    await stageIn(store, [{ ...at('b'), value: {} }], origin)
    await stageIn(store, [{ ...at('b'), value: undefined }], origin)
    test.same(store.changes(), [])
    await store.close()
  }),
)

t.test('removal hides the record in the candidate until it is promoted', (test) =>
  withStore(test, async (open) => {
    const store = open()
    await stageIn(store, [{ ...at('a'), value: 1 }], origin)
    await promoteAll(store)
    await stageIn(store, [{ ...at('a'), value: undefined }], origin)
    test.same(store.candidate.list('things', ''), [])
    test.equal(store.running.list('things', '').length, 1)
    await promoteAll(store)
    test.same(store.running.list('things', ''), [])
    test.equal(store.revision, 2)
    await store.close()
    const again = open()
    test.same(again.running.list('things', ''), [])
    test.equal(again.revision, 2)
    test.match(again.revisions(1), [{ revision: 2, changes: [{ key: 'a', before: 1, after: null }] }])
    await again.close()
  }),
)

t.test('changes staged during an apply stay pending after its promotion', (test) =>
  withStore(test, async (open) => {
    const store = open()
    await stageIn(store, [{ ...at('a'), value: 1 }], origin)
    await stageIn(store, [{ ...at('b'), value: 1 }], origin)
    const frozen = store.changes()
    await stageIn(store, [{ ...at('a'), value: 2 }], origin)
    await promoteIn(store, frozen, header(1))
    test.equal(store.running.get('things', '', 'a')?.value, 1)
    test.equal(store.candidate.get('things', '', 'a')?.value, 2)
    test.same(
      store.changes().map((change) => change.key),
      ['a'],
    )
    await store.close()
  }),
)

t.test('discard reverts only the named changes', (test) =>
  withStore(test, async (open) => {
    const store = open()
    await stageIn(
      store,
      [
        { ...at('a'), value: 1 },
        { ...at('b'), value: 1 },
      ],
      origin,
    )
    const [first] = store.changes()
    await discardIn(store, [first?.id ?? ''])
    test.same(store.candidate.list('things', '').length, 1)
    await store.close()
    const again = open()
    test.equal(again.changes().length, 1)
    await again.close()
  }),
)

t.test('lists are ordered by key and separated by scope', (test) =>
  withStore(test, async (open) => {
    const store = open()
    await stageIn(
      store,
      ['c', 'a', 'b'].map((key) => ({ ...at(key), value: key })),
      origin,
    )
    await stageIn(store, [{ section: 'things', scope: 'node-1', key: 'a', value: 'other' }], origin)
    test.same(
      store.candidate.list('things', '').map((record) => record.value),
      ['a', 'b', 'c'],
    )
    test.same(
      store.candidate.list('things', 'node-1').map((record) => record.value),
      ['other'],
    )
    await promoteAll(store)
    await stageIn(store, [{ ...at('aa'), value: 'aa' }], origin)
    test.same(
      store.candidate.list('things', '').map((record) => record.value),
      ['a', 'aa', 'b', 'c'],
    )
    await store.close()
  }),
)

t.test('an open journal is found again, and a promotion closes it', (test) =>
  withStore(test, async (open) => {
    const store = open()
    await store.openJournal({ ...header(1), steps: ['replace'] })
    await store.close()
    const again = open()
    test.match(again.journal(), { applyId: 'apply-1', steps: ['replace'] })
    await again.closeJournal('apply-2')
    test.match(again.journal(), { applyId: 'apply-1' }, 'another one does not')
    await promoteIn(again, [], header(1))
    test.equal(again.journal(), undefined)
    await again.close()
  }),
)

t.test('side records and meta values survive a reopening', (test) =>
  withStore(test, async (open) => {
    const store = open()
    await store.sessions.put('s1', { user: 'u' })
    await store.sessions.put('s2', { user: 'u' })
    await store.sessions.remove(['s1'])
    await store.putMeta('nodeId', 'n-1')
    await store.close()
    const again = open()
    test.same(again.sessions.entries(), [{ key: 's2', value: { user: 'u' } }])
    test.equal(again.getMeta('nodeId'), 'n-1')
    await again.close()
  }),
)
