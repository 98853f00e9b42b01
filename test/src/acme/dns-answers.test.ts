import t from 'tap'
import { DnsAnswers } from '../../../src/acme/dns-answers.ts'
import type { AcmeAnswer, AcmeProgress } from '../../../src/model/acme.ts'
import { acmeOrder } from '../../fixtures/acme.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const ONE = { name: '_acme-challenge.site.test', value: 'one' }
const OLD = { name: '_acme-challenge.site.test', value: 'old' }

/** An order whose records a provider creates, and which name servers show or do not. */
function fixture(dns: { readonly delay?: number; readonly visibleWithin?: number } = {}) {
  const order = acmeOrder('o', 'a', {
    challenge: 'dns-01',
    dns: { scriptId: 's', nameServers: ['192.0.2.53'], ...dns },
  })
  const says: { refused?: string; invisible?: string } = {}
  const done: string[] = []
  const clock = manualClock()
  const list = (answers: readonly AcmeAnswer[]) => answers.map(({ value }) => value).join()
  const answers = new DnsAnswers(
    {
      clock,
      records: {
        async present(_, made) {
          done.push(`present ${list(made)}`)
          return says.refused
        },
      },
      async whyInvisible(asked, nameServers) {
        done.push(`look for ${list(asked)} at ${nameServers?.join()}`)
        return says.invisible
      },
    },
    { note: (_, noted) => void done.push(`note ${list(noted)}`) },
  )
  const look = (progress: Partial<AcmeProgress> = {}) => answers.look(order, { of: '', ...progress }, [ONE])
  return { answers, look, says, done, clock }
}

t.test('records are created once, and possible records are noted beforehand', async (test) => {
  const { look, done, clock } = fixture()
  test.same(await look({ leftovers: [OLD] }), { presentedAt_ms: clock.now_ms() })
  test.same(done.splice(0), ['note old,one', 'present one'])
  test.same(await look({ presentedAt_ms: clock.now_ms() }), { isVisible: true })
  test.same(done.splice(0), ['look for one at 192.0.2.53'])
  test.match(await look({ presentedAt_ms: clock.now_ms() + 1 }), { presentedAt_ms: Number }, 'the clock was ahead then')
})

t.test('a failure of the script is the reason', async (test) => {
  const { look, says } = fixture()
  says.refused = 'no such zone'
  test.same(await look(), { reason: 'no such zone' })
})

t.test('records are looked up after the delay, every five seconds, and for a limited time', async (test) => {
  const { answers, look, says, done, clock } = fixture({ delay: 3, visibleWithin: 10 })
  const presentedAt_ms = clock.now_ms()
  says.invisible = 'nobody shows it'
  test.equal(await look({ presentedAt_ms }), 'later')
  test.same(done, [], 'no lookup yet')
  test.equal(answers.isWaiting('o'), true)
  clock.advance(3_000)
  test.equal(answers.isWaiting('o'), false)
  test.equal(await look({ presentedAt_ms }), 'later')
  clock.advance(4_999)
  test.equal(answers.isWaiting('o'), true)
  answers.forget(() => false)
  test.equal(answers.isWaiting('o'), true)
  answers.forget((id) => id === 'o')
  test.equal(answers.isWaiting('o'), false, 'of a deleted order nothing is kept')
  clock.advance(5_001)
  test.same(await look({ presentedAt_ms }), { reason: 'After 13 s, nobody shows it' })
})

t.test('without name servers to ask, records count as visible after the delay', async (test) => {
  const { look, done, clock } = fixture({ delay: 1, visibleWithin: 0 })
  const presentedAt_ms = clock.now_ms()
  clock.advance(1_000)
  test.same(await look({ presentedAt_ms }), { isVisible: true })
  test.same(done, [])
})
