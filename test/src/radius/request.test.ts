import fc from 'fast-check'
import t from 'tap'
import { groupValues } from '../../../src/radius/group-attribute.ts'
import { CODE, decodePacket, vendorAttribute } from '../../../src/radius/packet.ts'
import { AccessRequest } from '../../../src/radius/request.ts'
import { answerTo, SECRET } from '../../simulators/radius-server.ts'

const QUESTION = { name: 'nemo', password: 'arctangent', protocol: 'PAP', nasIdentifier: 'lb 1' } as const

t.test('a request names the user and the service', async (test) => {
  const { bytes } = new AccessRequest(QUESTION, SECRET, '192.0.2.7')
  const packet = decodePacket(bytes)
  test.equal(packet?.code, CODE.accessRequest)
  const said = new Map(packet?.attributes.map(({ type, value }) => [type, Buffer.from(value).toString('hex')]))
  test.same([...said.keys()], [80, 1, 2, 32, 4, 6, 61])
  test.equal(said.get(1), Buffer.from('nemo').toString('hex'))
  test.equal(said.get(32), Buffer.from('lb 1').toString('hex'))
  test.equal(said.get(4), 'c0000207')
  const six = decodePacket(new AccessRequest(QUESTION, SECRET, '2001:db8::7').bytes)?.attributes ?? []
  test.equal(Buffer.from(six[4]?.value ?? []).toString('hex'), '20010db8000000000000000000000007')
  test.notOk(bytes.includes('arctangent'), 'no password in clear')
})

t.test('reasons of Microsoft servers for a refusal', async (test) => {
  const request = new AccessRequest({ ...QUESTION, protocol: 'MSCHAPv2' }, SECRET, '192.0.2.7')
  const attributes = [vendorAttribute(311, 2, Buffer.from('\u0001E=648 R=0 C=00 V=3 M=expired'))]
  const judged = request.judge(answerTo(request.bytes, { code: CODE.accessReject, attributes }))
  test.match(judged, { authenticity: 'genuine', said: { outcome: 'refused', why: /the password has expired/ } })
})

t.test('an acceptance without proof that the server knows the password is a refusal', async (test) => {
  const request = new AccessRequest({ ...QUESTION, protocol: 'MSCHAPv2' }, SECRET, '192.0.2.7')
  test.match(request.judge(answerTo(request.bytes)), { said: { outcome: 'refused', why: /does not prove/ } })
})

t.test('an answer to another request is not judged; a forged one has no effect', async (test) => {
  const request = new AccessRequest(QUESTION, SECRET, '192.0.2.7')
  const another = new AccessRequest(QUESTION, SECRET, '192.0.2.7')
  test.equal(request.judge(Buffer.alloc(0)), undefined)
  test.equal(request.judge(request.bytes), undefined)
  const identifier = request.bytes[1] ?? 0
  test.match(request.judge(answerTo(another.bytes, { identifier })), { authenticity: 'forged', said: undefined })
})

t.test('a genuine answer may hold anything: it is parsed without an error', async (test) => {
  const requests = (['PAP', 'CHAP', 'MSCHAPv2'] as const).map(
    (protocol) => new AccessRequest({ ...QUESTION, protocol }, SECRET, '192.0.2.7'),
  )
  const attribute = fc.record({
    type: fc.constantFrom(1, 6, 11, 18, 25, 26, 33, 77),
    value: fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
  })
  const vendors = fc.tuple(fc.constantFrom(9, 311), fc.constantFrom(1, 2, 26), fc.uint8Array({ maxLength: 50 }))
  const vendor = vendors.map(([id, type, value]) => vendorAttribute(id, type, value))
  const attributes = fc.array(fc.oneof(attribute, vendor), { maxLength: 12 })
  const code = fc.constantFrom(CODE.accessAccept, CODE.accessReject, CODE.accessChallenge)
  fc.assert(
    fc.property(fc.constantFrom(...requests), attributes, code, (request, held, said) => {
      const judged = request.judge(answerTo(request.bytes, { code: said, attributes: held }))
      if (judged?.authenticity !== 'genuine' || judged.said === undefined) throw new Error('not judged')
      for (const name of ['Class', 'Service-Type', '26', '9:1', '311:26']) groupValues(name, held)
    }),
    { numRuns: 3000 },
  )
  test.pass('all were parsed')
})
