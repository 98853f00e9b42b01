import t from 'tap'
import { Tickets } from '../../../src/sso/tickets.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

t.test('a ticket names its request until it is used, is too old, or failed too often', async (test) => {
  const clock = manualClock()
  const tickets = new Tickets(clock, 1000, 3)
  const { requestId, ticket } = tickets.issue()
  test.match(requestId, /^_[0-9a-f]{40}$/)
  test.equal(tickets.requestOf(ticket), requestId)
  test.ok(tickets.use(requestId))
  test.notOk(tickets.use(requestId), 'once')
  test.equal(tickets.requestOf(ticket), undefined)
  const old = tickets.issue()
  clock.advance(1000)
  test.equal(tickets.requestOf(old.ticket), undefined)
  const guessed = tickets.issue()
  for (let n = 0; n < 3; n += 1) {
    test.equal(tickets.requestOf(guessed.ticket), guessed.requestId)
    tickets.failed(guessed.requestId)
  }
  test.equal(tickets.requestOf(guessed.ticket), undefined)
})

t.test('anything not issued here is no ticket', async (test) => {
  const clock = manualClock()
  const tickets = new Tickets(clock, 1000, 3)
  const { ticket } = tickets.issue()
  const [id = '', until = '', seal = ''] = ticket.split('.')
  const forged = [
    '',
    '.',
    '..',
    id,
    `${id}.${until}`,
    `${id}.${Number(until) + 1}.${seal}`,
    `_other.${until}.${seal}`,
    `${ticket}x`,
  ]
  for (const text of [...forged, new Tickets(clock, 1000, 3).issue().ticket]) {
    test.equal(tickets.requestOf(text), undefined, text)
  }
})

t.test('however many logins are begun, none invalidates another one', async (test) => {
  const tickets = new Tickets(manualClock(), 1000, 3)
  const { requestId, ticket } = tickets.issue()
  for (let n = 0; n < 20_000; n += 1) tickets.issue()
  test.equal(tickets.requestOf(ticket), requestId)
})

t.test('a ticket says where its login began, also when it is no longer valid', async (test) => {
  const clock = manualClock()
  const tickets = new Tickets(clock, 1000, 3)
  const [page, program] = [tickets.issue(true), tickets.issue()]
  test.match(tickets.issued(page.ticket), { requestId: page.requestId, isForPage: true })
  test.match(tickets.issued(program.ticket), { requestId: program.requestId, isForPage: false })
  tickets.use(page.requestId)
  clock.advance(1000)
  test.equal(tickets.requestOf(page.ticket), undefined)
  test.match(tickets.issued(page.ticket), { requestId: page.requestId })
  test.equal(
    tickets.issued(program.ticket.replace('.program.', '.page.')),
    undefined,
    'one cannot be turned into the other',
  )
})
