import t from 'tap'
import { deliver } from '../../workers/alerts.ts'
import { alertMessage, noSmtpServer, sendingTo, smtpServer } from '../fixtures/alert-targets.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'

const MAIL = {
  type: 'mail' as const,
  host: 'localhost',
  transport: 'tcp' as const,
  from: 'lb@example.test',
  to: ['duty@example.test'],
}

t.test('a server that judges a mail for long gets it once', { skip: noSmtpServer }, async (test) => {
  const own = certificateMaker(test).pair({ name: 'localhost' })
  const server = await smtpServer(test, { way: 'tcp', own, judges_s: 21 })
  const messages = [alertMessage(), alertMessage({ id: 'message-2' })]
  const sent = await deliver(sendingTo({ ...MAIL, port: server.port }, messages))
  test.same(sent, { taken: 1, failure: undefined }, 'noted before the next one is sent')
  test.equal(server.mails().length, 1)
})
