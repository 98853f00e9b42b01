import t from 'tap'
import { deliver } from '../../../workers/alerts.ts'
import { framesOf } from '../../../workers/alerts/syslog.ts'
import { alertMessage, HOSTILE, sendingTo } from '../../fixtures/alert-targets.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'
import { noRsyslog, rsyslog } from '../../fixtures/rsyslog.ts'

t.test('rsyslog accepts alerts over TLS, each as one message', { skip: noRsyslog }, async (test) => {
  const { pair } = certificateMaker(test)
  const ca = pair({ name: 'authority', isCa: true })
  const own = pair({ name: 'localhost', issuer: ca })
  const client = pair({ name: 'lb-1', issuer: ca })
  const server = await rsyslog(test, { own, ca: ca.cert, asks: true })
  const target = { type: 'syslog', host: 'localhost', port: server.port, caCertificate: ca.cert } as const
  const [alert] = alertMessage().alerts
  if (alert === undefined) return test.fail()
  const hostile = { ...alert, objectName: `${HOSTILE}\n<13>1 - - - - - - forged` }
  const messages = [alertMessage({ alerts: [alert, hostile], count: 2 }), alertMessage({ phase: 'resolved' })]
  const shown = { cert: client.cert, key: client.key }
  test.same(await deliver(sendingTo(target, messages, { shown })), { taken: 2, failure: undefined })
  const received = await server.received(3)
  test.match(received, [
    { pri: '26', hostname: 'lb-1', app: 'fulcrum', procid: 'node-1', msgid: 'alert' },
    { pri: '26' },
    { pri: '29' },
  ])
  const told = received.map(({ text }) => JSON.parse(text.replace(/^- ?/, '')))
  test.match(told[0], { messageId: 'message-1', phase: 'firing', rule: 'servers down', objectId: 'be/web-1' })
  test.equal(told[1].objectName, hostile.objectName, 'everything in one message')
  test.match(
    await deliver(sendingTo(target, messages)),
    { taken: 0, failure: { stage: 'connect' } },
    'without a certificate',
  )
  await server.kill()
  test.match(await deliver(sendingTo(target, messages, { shown })), { taken: 0, failure: { stage: 'connect' } })
  return undefined
})

t.test('a message is ASCII, and announces its length', (test) => {
  for (const frame of framesOf(alertMessage({ rule: { id: 'r', name: HOSTILE } }), 'lb-1')) {
    const [, length, text = ''] = /^(\d+) (.*)$/s.exec(frame) ?? []
    test.equal(Number(length), Buffer.byteLength(text))
    test.match(text, /^<26>1 2026-01-02T03:04:05\.000Z lb-1 fulcrum node-1 alert - \{/)
    test.notMatch(text, /[^ -~]/)
  }
  test.end()
})
