import t from 'tap'
import { deliver } from '../../../workers/alerts.ts'
import { linesOf, titleOf } from '../../../workers/alerts/words.ts'
import { alertMessage, HOSTILE, noSmtpServer, sendingTo, smtpServer } from '../../fixtures/alert-targets.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

const MAIL = { type: 'mail' as const, host: 'localhost', from: 'lb@example.test', to: ['duty@example.test'] }
const LOGIN = ['fulcrum', 'secret of mail'] as const
const CREDENTIALS = { username: LOGIN[0], password: LOGIN[1] }

t.test(
  'a real server accepts mails, with TLS from the first byte or STARTTLS, and authenticates the sender',
  { skip: noSmtpServer },
  async (test) => {
    const { pair } = certificateMaker(test)
    const own = pair({ name: 'localhost' })
    for (const way of ['tls', 'starttls'] as const) {
      const server = await smtpServer(test, { way, own, login: LOGIN })
      const target = { ...MAIL, ...CREDENTIALS, port: server.port, transport: way, caCertificate: own.cert }
      const messages = [alertMessage(), alertMessage({ id: 'message-2', phase: 'resolved' })]
      test.same(await deliver(sendingTo(target, messages)), { taken: 2, failure: undefined }, way)
      const [first, second] = server.mails()
      test.match(first, { from: 'lb@example.test', to: ['duty@example.test'], tls: true, auth: true })
      test.match(first?.text, /^Subject: \[critical\] Firing: servers down: shop\/web-1\r$/m)
      test.match(first?.text, /^Message-ID: <message-1@example.test>\r$/m, 'the same at every try')
      test.match(first?.text, /shop\/web-1 is down \(since 2026-01-02T03:03:35.000Z\)/)
      test.match(second?.text, /^Subject: \[critical\] Resolved/m)

      const wrong = await deliver(sendingTo({ ...target, password: 'another secret' }, messages))
      test.match(wrong, { taken: 0, failure: { stage: 'authenticate' } })
      test.notMatch(JSON.stringify(wrong), 'another secret')
      const unknown = await deliver(sendingTo({ ...target, caCertificate: pair({ name: 'localhost' }).cert }))
      test.match(unknown, { taken: 0, failure: { stage: 'connect' } }, 'another certificate than that of the server')
      test.equal(server.mails().length, 2)
    }
  },
)

t.test(
  'a server is reached at an IPv6 address, if its certificate names that',
  { skip: noSmtpServer },
  async (test) => {
    const { pair } = certificateMaker(test)
    for (const [names, taken] of [
      ['IP:::1', 1],
      ['IP:::2', 0],
    ] as const)
      for (const way of ['tls', 'starttls'] as const) {
        const own = pair({ name: 'mail', names })
        const { port } = await smtpServer(test, { way, own, host: '::1' })
        const target = { ...MAIL, host: '::1', port, transport: way, caCertificate: own.cert }
        test.match(await deliver(sendingTo(target)), { taken }, `${way}, ${names}`)
      }
  },
)

t.test('names end no header, and are read as they were written', { skip: noSmtpServer }, async (test) => {
  const own = certificateMaker(test).pair({ name: 'localhost' })
  const server = await smtpServer(test, { way: 'tcp', own })
  const name = `${HOSTILE}\r\nBcc: other@example.test\r\n\r\nbody`
  const hostile = alertMessage({ rule: { id: 'r', name } })
  test.match(await deliver(sendingTo({ ...MAIL, transport: 'tcp', port: server.port }, [hostile])), { taken: 1 })
  const [mail] = server.mails()
  test.same(mail?.to, ['duty@example.test'])
  const [head = ''] = mail?.text.split('\r\n\r\n') ?? []
  test.notMatch(head, /^Bcc:/m)
  test.match(head, /^Subject: =\?UTF-8\?/m)
  // oxlint-disable-next-line no-control-regex -- that there is none is what is looked for
  test.notMatch(head, /[^\x00-\x7f]/)
  const title = titleOf(hostile)
  test.match(title, /é 😀 Bcc/u)
  test.equal(mail?.subject, title)
  test.equal(mail?.body, `${[title, '', ...linesOf(hostile)].join('\n')}\n`)
  const long = alertMessage({ rule: { id: 'r', name: '😀'.repeat(200) } })
  for (const pad of ['', 'x']) {
    const padded = { ...long, rule: { id: 'r', name: pad + long.rule.name } }
    test.match(await deliver(sendingTo({ ...MAIL, transport: 'tcp', port: server.port }, [padded])), { taken: 1 })
    const { subject } = server.mails().at(-1) ?? { subject: '' }
    test.ok(subject.length >= 249 && titleOf(padded).startsWith(subject), subject)
  }
})

t.test('a refused mail has its reason: for now, or for good', { skip: noSmtpServer }, async (test) => {
  const own = certificateMaker(test).pair({ name: 'localhost' })
  const server = await smtpServer(test, { way: 'tcp', own, refused: 'nobody@example.test' })
  const target = { ...MAIL, transport: 'tcp' as const, port: server.port }
  const nobody = await deliver(sendingTo({ ...target, to: ['nobody@example.test'] }))
  test.match(nobody, { taken: 0, failure: { stage: 'send', reason: /550/ } })
  test.equal(nobody.failure?.isFinal, undefined, 'a target can be corrected')
  const unwanted = alertMessage({ rule: { id: 'r', name: 'about nobody@example.test' } })
  test.match(await deliver(sendingTo(target, [alertMessage(), unwanted])), { taken: 1, failure: { isFinal: true } })
  await server.kill()
  test.match(await deliver(sendingTo(target)), { taken: 0, failure: { stage: 'connect' } })
  test.match(await deliver(sendingTo({ ...MAIL, host: 'no-such-host.invalid' })), { failure: { stage: 'resolve' } })
})

t.test(
  'each of several recipients gets a mail once, also one that gets it later, or never',
  { skip: noSmtpServer },
  async (test) => {
    const own = certificateMaker(test).pair({ name: 'localhost' })
    const server = await smtpServer(test, { way: 'tcp', own })
    const target = { ...MAIL, transport: 'tcp' as const, port: server.port }
    const recipients = () => server.mails().map(({ to }) => to)
    const some = sendingTo({ ...target, to: ['a@example.test', 'later@example.test', 'b@example.test'] })
    const first = await deliver(some)
    const having = first.failure?.having ?? []
    test.match(first, { taken: 0, failure: { stage: 'send', reason: /450 come again/ } })
    test.same(having, ['a@example.test', 'b@example.test'])
    test.match(await deliver({ ...some, having }), { taken: 1, failure: undefined })
    test.same(recipients(), [having, ['later@example.test']])
    const messages = [alertMessage({ id: 'other' }), alertMessage({ id: 'next' })]
    const one = sendingTo({ ...target, to: ['a@example.test', 'never@example.test'] }, messages)
    const refused = { taken: 0, failure: { reason: /550 nobody/, isFinal: true, having: ['a@example.test'] } }
    test.match(await deliver(one), refused)
    test.same(recipients()[2], ['a@example.test'])
    test.match(await deliver({ ...one, having: ['a@example.test'] }), { failure: { isFinal: true } })
    test.equal(recipients().length, 3, 'a recipient who has it does not get it again')
    const both = sendingTo({ ...target, to: ['a@example.test'] }, messages, { having: ['b@example.test'] })
    test.match(await deliver(both), { taken: 2, failure: undefined })
  },
)
