import t from 'tap'
import type { Entry } from '../../../storage/config/entry.ts'
import { decodeEnvelope, encodeEnvelope, envelopeOf, UnknownEntryError } from '../../../src/cluster/envelope.ts'
import { staged } from '../../fixtures/cluster-in-memory.ts'

const AT = '2026-01-02T03:04:05.000Z'
const header = { revision: 1, applyId: 'a', at: AT, actor: 'tester', summary: '' }

/** One of each operation. */
const ENTRIES = {
  stage: staged('a', { deep: [1, null, 'ü'] }),
  freeze: { op: 'freeze', applyId: 'a', changes: ['c'] },
  thaw: { op: 'thaw', applyId: 'a' },
  promote: { op: 'promote', header },
  confirm: { op: 'confirm', applyId: 'a' },
  amend: { op: 'amend', key: { section: 'users', scope: '', key: 'u' }, patch: {} },
  compare: { op: 'compare', position: 1_000, digest: '00' },
} as unknown as { readonly [Op in Entry['op']]: Extract<Entry, { op: Op }> }

for (const [op, entry] of Object.entries(ENTRIES)) {
  t.test(`${op} is read back unchanged`, async (t) => {
    const envelope = envelopeOf('id-1', 'node-1', AT, entry)
    t.same(envelope, { v: 1, id: 'id-1', node: 'node-1', at: AT, entry })
    t.same(decodeEnvelope(encodeEnvelope(envelope)), envelope)
  })
}

t.test('another version is not known, whatever it holds', async (t) => {
  const refusal = new UnknownEntryError('it has version 2, but this node knows only 1')
  const newer = [{ ...envelopeOf('x', 'n', AT, ENTRIES.thaw), v: 2 }, { v: 2 }]
  for (const one of newer) t.throws(() => decodeEnvelope(Buffer.from(JSON.stringify(one))), refusal)
})

t.test('an unknown operation', async (t) => {
  const { entry, ...rest } = envelopeOf('x', 'n', AT, ENTRIES.thaw)
  const bytes = Buffer.from(JSON.stringify({ ...rest, entry: { ...entry, op: 'merge' } }))
  t.throws(() => decodeEnvelope(bytes), new UnknownEntryError('this node does not know the operation merge'))
})

t.test('fields that a patch removes are removed everywhere', async (t) => {
  const entry = { ...ENTRIES.amend, patch: { name: 'new', secondFactor: undefined, deep: { gone: undefined } } }
  const found = decodeEnvelope(encodeEnvelope(envelopeOf('x', 'n', AT, entry))).entry
  t.strictSame(found, { ...entry, patch: { name: 'new', deep: {}, secondFactor: undefined } })
  t.ok(found.op === 'amend' && 'secondFactor' in found.patch)
})
