import t from 'tap'
import { MessageError } from '../../../../src/peers/joining/messages.ts'
import { readAnswered, readApplication, readOpening, readSeen } from '../../../../src/peers/joining/protocol.ts'

const ASKED = { tokenId: 'token', joinerId: 'lb3', intent: 'look', application: {}, proof: 'proof' }
const SEEN = {
  clusterId: 'cluster',
  name: 'Test',
  version: '1.2.3',
  now_ms: 0,
  nodes: [{ id: 'lb1', name: 'Load balancer 1', address: 'lb1:9444' }],
  reachable: true,
}

t.test('another protocol is recognised by its number, whatever else it says', async (test) => {
  test.same(readOpening({ protocol: 2, anything: [] }), { protocol: 2 })
  test.match(readOpening({ protocol: 1, ...ASKED }), { protocol: 1, asked: ASKED })
  for (const intent of ['look', 'join']) test.ok(readOpening({ protocol: 1, ...ASKED, intent }).asked)
})

t.test('the opening of no protocol is no message', async (test) => {
  const wrong = [
    undefined,
    null,
    [],
    'x',
    {},
    { protocol: '1' },
    { protocol: 1.5 },
    ...Object.keys(ASKED).map((field) => ({ protocol: 1, ...ASKED, [field]: undefined })),
    ...['intent', 'tokenId', 'joinerId', 'proof'].map((field) => ({ protocol: 1, ...ASKED, [field]: 'x'.repeat(65) })),
    { protocol: 1, ...ASKED, joinerId: 'a b' },
    { protocol: 1, ...ASKED, joinerId: '' },
  ]
  for (const [at, one] of wrong.entries()) {
    // As it arrives: JSON has no undefined.
    const sent: unknown = one === undefined ? one : JSON.parse(JSON.stringify(one))
    test.throws(() => readOpening(sent), MessageError, `case ${at}`)
  }
})

t.test('answers are a welcome with a proof, or a refusal', async (test) => {
  test.ok(readAnswered({ proof: 'x', welcome: null }))
  test.ok(readAnswered({ refusal: { code: 'X', message: 'y' } }))
  const wrong = [
    {},
    { proof: 'x' },
    { welcome: 1 },
    { refusal: {} },
    { refusal: { code: 'X', message: 'y'.repeat(1_025) } },
  ]
  for (const one of wrong) test.equal(readAnswered(one), undefined, JSON.stringify(one).slice(0, 60))
})

t.test('the answer to a preview is read as described, ignoring unknown fields', async (test) => {
  test.ok(readSeen(SEEN))
  test.ok(readSeen({ ...SEEN, reachable: false, why: 'x', ofALaterPatch: 1 }))
  for (const field of Object.keys(SEEN)) test.equal(readSeen({ ...SEEN, [field]: {} }), undefined, field)
  test.equal(readApplication(SEEN), undefined)
})
