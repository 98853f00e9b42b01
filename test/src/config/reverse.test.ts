import t from 'tap'
import { reverseOf } from '../../../src/config/reverse.ts'
import { acmeOrder } from '../../fixtures/acme.ts'
import { realServer, refuses } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const change = (key: string, before: unknown, after: unknown) => ({
  section: 'realServers',
  scope: '',
  key,
  before: before ?? null,
  after: after ?? null,
})
const back = (now: readonly object[], ...changes: ReturnType<typeof change>[]) =>
  reverseOf(viewOf({ realServers: now as never }), 4, changes).map(({ key, value }) => [key, value])

t.test('created records are deleted, deleted ones restored, changed ones are as before', async (test) => {
  const made = realServer('made')
  const gone = realServer('gone')
  const [light, heavy] = [realServer('r', { weight: 1 }), realServer('r', { weight: 9 })]
  test.same(
    back([made, heavy], change('made', undefined, made), change('gone', gone, undefined), change('r', light, heavy)),
    [
      ['made', undefined],
      ['gone', gone],
      ['r', light],
    ],
  )
})

t.test('other fields keep later changes, and restored ones need no write', async (test) => {
  const [light, heavy] = [realServer('r', { weight: 1 }), realServer('r', { weight: 9 })]
  const later = { ...heavy, name: 'renamed' }
  test.same(back([later], change('r', light, heavy)), [['r', { ...light, name: 'renamed' }]])
  test.same(back([light], change('r', light, heavy)), [])
  test.same(back([{ ...light, name: 'renamed' }], change('r', light, heavy)), [])
  test.same(back([], change('r', undefined, heavy)), [], 'deleted meanwhile')
  test.same(back([light], change('r', light, undefined)), [], 'there again')
})

t.test('the creation of a certificate order can be undone, however far the daemon has come with it', async (test) => {
  const made = acmeOrder('o', 'a')
  const created = { ...change('o', undefined, made), section: 'acmeOrders' }
  const undone = (now: object) => reverseOf(viewOf({ acmeOrders: [now as never] }), 4, [created])
  const worked = { ...made, progress: { of: 'digest', issued: 'AA' } }
  test.match(undone(worked), [{ key: 'o', value: undefined }])
  await refuses(test, 'REVISION_MISMATCH', () => undone({ ...worked, name: 'renamed' }))
  const renamed = { ...change('o', made, { ...made, name: 'renamed' }), section: 'acmeOrders' }
  const kept = reverseOf(viewOf({ acmeOrders: [{ ...worked, name: 'renamed' }] }), 4, [renamed])
  test.match(kept, [{ value: worked }], 'its progress stays')
})

t.test('an added field is removed, a removed one comes back', async (test) => {
  const plain = realServer('r')
  const more = { ...plain, port: 8080 }
  test.same(back([more], change('r', plain, more)), [['r', plain]])
  test.match(back([plain], change('r', more, plain)), [['r', { port: 8080 }]])
})

t.test('REVISION_MISMATCH names records that were changed again, and nothing is written', async (test) => {
  const [light, heavy, heaviest] = [1, 9, 10].map((weight) => realServer('r', { weight }))
  for (const [now, it] of [
    [[heaviest], change('r', light, heavy)],
    [[], change('r', light, heavy)],
    [[heaviest], change('r', undefined, heavy)],
    [[heaviest], change('r', light, undefined)],
  ] as const) {
    const error = await refuses(test, 'REVISION_MISMATCH', () => back(now as never, it))
    test.match(error.details.data, { records: [{ resource: 'realServers', resourceId: 'r', name: 'r' }] })
    test.match(error.message, /revision 4 .*: real server r \(r\);/)
  }
  const many = Array.from({ length: 8 }, (_, n) =>
    change(`r${n}`, realServer(`r${n}`), realServer(`r${n}`, { weight: 2 })),
  )
  const error = await refuses(test, 'REVISION_MISMATCH', () => back([], ...many))
  test.match(error.message, /real server r0 \(r0\), real server r1 \(r1\), .*, real server r4 \(r4\) and 3 more/)
})
