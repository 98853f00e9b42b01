import t from 'tap'
import type { Answer } from '../../../src/http/envelope.ts'
import type { Incoming } from '../../../src/http/incoming.ts'
import { sequenced } from '../../../src/http/sequenced.ts'

const ANSWER: Answer = { status: 200, contentType: 'application/json', body: '{}', headers: {} }

const known = () => true

/** Headers are unavailable when the handler has returned, as with a socket. */
function asking(headers: Readonly<Record<string, string>>, method = 'GET') {
  let isGone = false
  const incoming: Incoming = {
    method,
    path: '/api/v1/users',
    query: '',
    address: '192.0.2.1',
    header: (name) => {
      if (isGone) throw new Error('the request was taken back')
      return headers[name] ?? ''
    },
    isAmbiguous: false,
    readBody: () => Promise.reject(new Error('there is none')),
  }
  return { incoming, gone: () => void (isGone = true) }
}

t.test('answers say how far this node has read, unless they are rendered once for many', async (test) => {
  const log = { position: 7, hasQuorum: true }
  const told = (answer: Answer) => sequenced(log, asking({}).incoming, () => answer, known)
  test.same((await told(ANSWER)).headers, { 'X-Fulcrum-Sequence': '7' })
  const rendered = { ...ANSWER, head: 'application/json' }
  test.equal(await told(rendered), rendered)
  const relayed = { ...ANSWER, headers: { 'X-Fulcrum-Sequence': '9' } }
  test.same((await told(relayed)).headers, { 'X-Fulcrum-Sequence': '9' }, 'of another node: how far that one has read')
  log.hasQuorum = false
  test.same((await told(ANSWER)).headers, { 'X-Fulcrum-Sequence': '7', 'X-Cluster': 'no-quorum' })
})

t.test('a read that names a later position waits for it, and keeps its parameters', async (test) => {
  const log = { position: 7, hasQuorum: true }
  const { incoming, gone } = asking({ 'x-fulcrum-sequence': '8', authorization: 'Bearer a', 'if-none-match': '"3"' })
  const carried = { userId: 'kim' } as never
  let seen: unknown[] = []
  const given = sequenced(
    log,
    { ...incoming, carried },
    (one) => {
      seen = [log.position, one.header('authorization'), one.header('if-none-match'), one.carried]
      return ANSWER
    },
    known,
  )
  gone()
  await new Promise((resolve) => setTimeout(resolve, 20))
  test.same(seen, [], 'not before')
  log.position = 8
  test.same((await given).headers, { 'X-Fulcrum-Sequence': '8' })
  test.same(seen, [8, 'Bearer a', '"3"', carried])
})

t.test('the wait ends after a second, and an invalid number does not wait at all', async (test) => {
  const log = { position: 7, hasQuorum: true }
  const late = await sequenced(log, asking({ 'x-fulcrum-sequence': '999' }).incoming, () => ANSWER, known)
  test.same(late.headers, { 'X-Fulcrum-Sequence': '7' })
  for (const sent of ['7', 'soon', '-1', '']) {
    const answer = sequenced(log, asking({ 'x-fulcrum-sequence': sent }).incoming, () => ANSWER, known)
    test.notOk(answer instanceof Promise, sent)
  }
  const change = sequenced(log, asking({ 'x-fulcrum-sequence': '999' }, 'PUT').incoming, () => ANSWER, known)
  test.notOk(change instanceof Promise, 'the log orders a change anyway')
})

t.test('an unknown caller does not wait, and at most 256 wait at once', async (test) => {
  const log = { position: 7, hasQuorum: true }
  const ask = (isKnown: () => boolean) =>
    sequenced(log, asking({ 'x-fulcrum-sequence': '8' }).incoming, () => ANSWER, isKnown)
  test.notOk(ask(() => false) instanceof Promise)
  const waiting = Array.from({ length: 256 }, () => ask(known))
  test.ok(waiting.every((one) => one instanceof Promise))
  test.notOk(ask(known) instanceof Promise)
  log.position = 8
  for (const one of waiting) await one
  log.position = 7
  const again = ask(known)
  test.ok(again instanceof Promise, 'there is room again')
  log.position = 8
  await again
})
