import t from 'tap'
import { answerTo, compareOids, type Mib } from '../../../../src/snmp/agentx/answer.ts'
import type { Oid } from '../../../../src/snmp/agentx/bytes.ts'
import { ERROR, HEADER_BYTES, type Pdu, TYPE } from '../../../../src/snmp/agentx/pdu.ts'
import { varBindsOf } from './master-fixture.ts'

const HEADER = { type: 0, sessionId: 1, transactionId: 2, packetId: 3, payloadBytes: 0, isBig: true, hasContext: false }
const OBJECTS: readonly (readonly [Oid, number])[] = [
  [[1, 1, 1], 11],
  [[1, 1, 2], 12],
  [[1, 2, 1], 21],
  [[1, 2, 2], 22],
]

const MIB: Mib = {
  get(oid) {
    const found = OBJECTS.find(([name]) => compareOids(name, oid) === 0)
    return found === undefined ? 'noSuchInstance' : { kind: 'gauge', value: found[1] }
  },
  next(oid, isIncluded) {
    const found = OBJECTS.find(([name]) => (isIncluded ? compareOids(name, oid) >= 0 : compareOids(name, oid) > 0))
    return found === undefined ? undefined : { oid: found[0], value: { kind: 'gauge', value: found[1] } }
  },
}

const from = (start: Oid, end: Oid = [], isIncluded = false) => ({ start, end, isIncluded })
function asked(request: Pdu) {
  const answer = answerTo(HEADER, request, MIB) ?? Buffer.alloc(HEADER_BYTES + 8)
  return {
    type: answer.readUInt8(1),
    ids: [answer.readUInt32BE(4), answer.readUInt32BE(8), answer.readUInt32BE(12)],
    error: answer.readUInt16BE(HEADER_BYTES + 4),
    values: varBindsOf(answer).map(({ oid, value }) => `${oid.join('.')}=${value}`),
  }
}

t.test('Get answers each variable, also a missing one', async (test) => {
  const answer = asked({ kind: 'get', ranges: [from([1, 1, 2]), from([1, 1, 3])] })
  test.same(answer, {
    type: TYPE.response,
    ids: [1, 2, 3],
    error: 0,
    values: ['1.1.2=12', '1.1.3=noSuchInstance'],
  })
})

t.test('GetNext continues from there, and not beyond the end of the range', async (test) => {
  const next = (range: ReturnType<typeof from>) => asked({ kind: 'getNext', ranges: [range] }).values
  test.same(next(from([1])), ['1.1.1=11'])
  test.same(next(from([1, 1, 1])), ['1.1.2=12'])
  test.same(next(from([1, 1, 1], [], true)), ['1.1.1=11'], 'included')
  test.same(next(from([1, 1, 2], [1, 2])), ['1.1.2=endOfMibView'])
  test.same(next(from([1, 2, 2])), ['1.2.2=endOfMibView'])
})

t.test('GetBulk answers single values once and repeaters in turn, until all have ended', async (test) => {
  const ranges = [from([1]), from([1, 1]), from([1, 2])]
  test.same(asked({ kind: 'getBulk', nonRepeaters: 1, repetitions: 2, ranges }).values, [
    '1.1.1=11',
    '1.1.1=11',
    '1.2.1=21',
    '1.1.2=12',
    '1.2.2=22',
  ])
  const all = asked({ kind: 'getBulk', nonRepeaters: 0, repetitions: 65_535, ranges: [from([1, 2, 1])] })
  test.same(all.values, ['1.2.2=22', '1.2.2=endOfMibView'])
  test.same(asked({ kind: 'getBulk', nonRepeaters: 9, repetitions: 9, ranges: [from([1])] }).values, ['1.1.1=11'])
  test.same(asked({ kind: 'getBulk', nonRepeaters: 0, repetitions: 0, ranges: [from([1])] }).values, [])
})

t.test('an answer is limited, however much is requested', async (test) => {
  let number = 0
  const endless: Mib = { ...MIB, next: () => ({ oid: [1, ++number], value: { kind: 'gauge', value: 1 } }) }
  const ranges = Array.from({ length: 7 }, () => from([1]))
  const answer = answerTo(HEADER, { kind: 'getBulk', nonRepeaters: 0, repetitions: 65_535, ranges }, endless)
  test.ok(varBindsOf(answer ?? Buffer.alloc(0)).length <= 500)
})

t.test('nothing can be set, and the steps of a set are answered as in RFC 2741', async (test) => {
  test.equal(asked({ kind: 'testSet' }).error, ERROR.notWritable)
  test.equal(asked({ kind: 'commitSet' }).error, ERROR.notWritable)
  test.equal(asked({ kind: 'undoSet' }).error, ERROR.none)
  test.equal(answerTo(HEADER, { kind: 'cleanupSet' }, MIB), undefined)
  test.equal(asked({ kind: 'ping' }).error, ERROR.none)
  test.equal(asked({ kind: 'context' }).error, ERROR.unsupportedContext)
  test.equal(asked({ kind: 'unknown' }).error, ERROR.genErr)
  test.equal(answerTo(HEADER, { kind: 'close' }, MIB), undefined)
})
