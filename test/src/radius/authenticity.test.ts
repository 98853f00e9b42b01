import t from 'tap'
import { authenticityOf, signedRequest } from '../../../src/radius/authenticity.ts'
import { decodePacket } from '../../../src/radius/packet.ts'
import { answerTo, SECRET } from '../../simulators/radius-server.ts'

const hex = (text: string) => Buffer.from(text, 'hex')

const request = signedRequest({ code: 1, identifier: 9, authenticator: Buffer.alloc(16, 5), attributes: [] }, SECRET)
const judged = (bytes: Buffer, secret = SECRET) => {
  const packet = decodePacket(bytes)
  return packet === undefined ? undefined : authenticityOf(packet, request.subarray(4, 20), secret)
}

t.test('RFC 5997, section 6.1: the Message-Authenticator as the first attribute', async (test) => {
  const sent = '0cda00268a54f4686fb394c52866e302185d062350125a665e2e1e8411f3e243822097c84fa3'
  const authenticator = hex('8a54f4686fb394c52866e302185d0623')
  const packet = { code: 12, identifier: 0xda, authenticator, attributes: [] }
  test.equal(signedRequest(packet, 'xyzzy5461').toString('hex'), sent)
  const answer = decodePacket(hex('02da0014ef0d552a4bf2d693ec2b6fe8b5411d66'))
  if (answer === undefined) throw new Error('the example is a packet')
  test.equal(authenticityOf(answer, authenticator, 'xyzzy5461'), 'unprotected')
})

t.test('RFC 2865, section 7.1: the Response Authenticator', async (test) => {
  const answer = decodePacket(hex('0200002686fe220e7624ba2a1005f6bf9b55e0b20606000000010f06000000000e06c0a80103'))
  if (answer === undefined) throw new Error('the example is a packet')
  const asked = hex('0f403f9473978057bd83d5cb98f4227a')
  test.equal(authenticityOf(answer, asked, 'xyzzy5461'), 'unprotected')
  test.equal(authenticityOf(answer, asked, 'xyzzy5462'), 'forged')
})

t.test('an answer to this request with a Message-Authenticator is genuine, wherever that is', async (test) => {
  const attributes = [{ type: 25, value: Buffer.from('ops') }]
  test.equal(judged(answerTo(request, { messageAuthenticator: 'first', attributes })), 'genuine')
  test.equal(judged(answerTo(request, { messageAuthenticator: 'last', attributes })), 'genuine')
  test.equal(judged(answerTo(request, { messageAuthenticator: 'none', attributes })), 'unprotected')
  test.equal(judged(answerTo(request), 'another secret'), 'forged')
  test.equal(
    judged(answerTo(Buffer.concat([request.subarray(0, 4), Buffer.alloc(16, 6)]))),
    'forged',
    'another request',
  )
})

t.test('one changed bit is forged', async (test) => {
  const answer = answerTo(request, { attributes: [{ type: 25, value: Buffer.from('ops') }] })
  for (let at = 4; at < answer.length; at += 1) {
    const changed = Buffer.from(answer)
    changed[at] = (changed[at] ?? 0) ^ 1
    test.not(judged(changed), 'genuine', `byte ${at}`)
  }
})

t.test('two Message-Authenticators, one of another length, or a Proxy-State without one', async (test) => {
  const own = { type: 80, value: Buffer.alloc(16) }
  test.equal(judged(answerTo(request, { attributes: [own] })), 'forged')
  const short = { type: 80, value: Buffer.alloc(15) }
  test.equal(judged(answerTo(request, { attributes: [short], messageAuthenticator: 'none' })), 'forged')
  const state = { type: 33, value: Buffer.from('collision') }
  test.equal(judged(answerTo(request, { attributes: [state], messageAuthenticator: 'none' })), 'forged')
})
