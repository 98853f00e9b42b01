import t from 'tap'
import { AcmeOrders, type AcmeOrdersParts } from '../../../src/acme/orders.ts'
import { defer } from '../../../src/base/deferred.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { AcmeOrder, AcmeStep, AcmeStepped } from '../../../src/model/acme.ts'
import type { Certificate } from '../../../src/model/certificates.ts'
import type { ConfigView } from '../../../src/model/sections.ts'
import { digestOf } from '../../../src/rules/acme.ts'
import { readCertificate } from '../../../workers/compute/certificate.ts'
import { acmeAccount, acmeOrder } from '../../fixtures/acme.ts'
import { certificateMaker, type Pair } from '../../fixtures/certificate-maker.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'
import { viewOf } from '../../fixtures/view.ts'

const DAY_S = 86_400
const ACCOUNT = acmeAccount('a')
const ORDERED = { is: 'ordered', orderUrl: 'https://ca.test/order/1', accountUrl: 'https://ca.test/account/1' } as const
const WAITING = { is: 'waiting', after_s: 7 } as const
const failed = (more: object = {}) =>
  ({ is: 'failed', reason: 'no', retryAfter_s: undefined, isOver: true, ...more }) as const

/** Orders of a node with a CA that gives these answers, in order. */
function fixture(test: Tap, says: AcmeStepped[], more: Partial<AcmeOrdersParts> = {}) {
  const { pair, record } = certificateMaker(test)
  // Certificates that are created later begin in the second of their creation.
  const clock = manualClock(Date.now() + 60_000)
  const stored = {
    order: acmeOrder('o', 'a'),
    certificate: { ...record('c', pair({ name: 'old.test' })), id: 'certificate-o' },
  }
  const agreed: ConfigView = {
    get: (section, id) => view().get(section, id),
    list: (section) => view().list(section),
  }
  const view = () => viewOf({ acmeAccounts: [ACCOUNT], acmeOrders: [stored.order], certificates: [stored.certificate] })
  const asked: AcmeStep[] = []
  const events: object[] = []
  const waited: number[] = []
  const reader = { get: () => ({ value: stored.certificate, revision: 1 }), list: () => [] }
  const parts: AcmeOrdersParts = {
    store: { agreed: reader },
    agreed,
    amend: async (_, change) => void (stored.order = { ...stored.order, ...change(stored.order) }),
    engine: {
      async applyUnstaged(take) {
        for (const { after } of take()) stored.certificate = after?.value as Certificate
        return undefined as never
      },
    },
    async step(step) {
      asked.push(step)
      const next = says.shift()
      if (next === undefined) throw new Error('nothing more was expected')
      return next
    },
    read: async (pem) =>
      readCertificate({ upload: { form: 'pem', pem }, password: '', force: false, now_ms: clock.now_ms() }),
    whyUnanswered: () => undefined,
    records: { present: async () => undefined, remove: async () => ({ left: [], why: undefined }) },
    whyInvisible: async () => undefined,
    inTurn: async (work) => work().then(() => true),
    hasOthers: () => false,
    allowsLoopback: false,
    events: { publish: (_, data) => void events.push(data) },
    clock,
    log: silentLog,
    wait: async (ms) => void waited.push(ms),
    ...more,
  }
  const orders = new AcmeOrders(parts)
  const progress = () => stored.order.progress
  const kept = (now: Partial<AcmeOrder['progress'] & object>) =>
    (stored.order = { ...stored.order, progress: { of: digestOf(stored.order, ACCOUNT), ...now } })
  const issued = (made: Pair) => ({ is: 'issued', chain: made.cert }) as const
  return { orders, stored, says, asked, events, waited, clock, progress, kept, pair, issued }
}
type Tap = Parameters<typeof certificateMaker>[0]

t.test('each step is stored before the next, and the certificate is put in place', async (test) => {
  const { orders, says, asked, events, waited, progress, pair, issued, stored } = fixture(test, [])
  const made = pair({ name: 'www.site.test', days: 90 })
  says.push(ORDERED, WAITING, { is: 'keyed', privateKey: made.key }, WAITING, issued(made))
  await orders.look()
  const [orderUrl, accountUrl] = [ORDERED.orderUrl, ORDERED.accountUrl]
  test.match(
    asked.map((step) => step.progress),
    [{ orderUrl: undefined }, { orderUrl }, { orderUrl }, { privateKey: made.key }, { orderUrl, accountUrl }],
  )
  test.same(waited, [7_000, 7_000])
  test.equal(stored.certificate.facts.commonName, 'www.site.test')
  test.same(Object.keys(progress() ?? {}).toSorted(), ['issued', 'issuedAt_ms', 'of'], 'its key is stored once')
  test.match(events, [{ state: 'renewed', name: 'c', order: 'o', fingerprint: stored.certificate.facts.fingerprint }])
  await orders.look()
  test.equal(asked.length, 5, 'nothing is due')
})

t.test('an open order is resumed; one completed before a crash is not put in place twice', async (test) => {
  const { orders, says, kept, pair, issued, stored, progress } = fixture(test, [], {
    engine: { applyUnstaged: () => Promise.reject(new Error('applied twice')) },
  })
  const made = pair({ name: 'www.site.test', days: 90 })
  kept({ orderUrl: ORDERED.orderUrl, accountUrl: ORDERED.accountUrl, privateKey: made.key })
  const pem = made.cert + made.key
  const read = readCertificate({ upload: { form: 'pem', pem }, password: '', force: true, now_ms: Date.now() })
  if ('certificate' in read) stored.certificate = { ...stored.certificate, ...read.certificate }
  says.push(issued(made))
  await orders.look()
  test.equal(progress()?.issued, stored.certificate.facts.fingerprint)
})

t.test('it is renewed at two thirds of its lifetime, once', async (test) => {
  const { orders, says, asked, clock, pair, issued, progress } = fixture(test, [])
  const first = pair({ name: 'www.site.test', days: 90 })
  says.push(ORDERED, { is: 'keyed', privateKey: first.key }, issued(first))
  await orders.look()
  clock.advance(59 * DAY_S * 1_000)
  await orders.look()
  test.equal(asked.length, 3)
  clock.advance(2 * DAY_S * 1_000)
  const next = pair({ name: 'www.site.test', days: 180 })
  says.push(ORDERED, { is: 'keyed', privateKey: next.key }, issued(next))
  await orders.look()
  test.equal(asked.length, 6)
  test.equal(progress()?.issuedAt_ms, clock.now_ms())
})

t.test('a certificate of one day is renewed before its end, although its CA was down for six hours', async (test) => {
  const { orders, says, asked, clock, pair, issued, stored } = fixture(test, [])
  const [first, next] = [pair({ name: 'www.site.test', days: 1 }), pair({ name: 'www.site.test', days: 2 })]
  says.push(ORDERED, { is: 'keyed', privateKey: first.key }, issued(first))
  await orders.look()
  const end_ms = Date.parse(stored.certificate.facts.validTo)
  clock.advance(16 * 3_600_000)
  const upFrom_ms = clock.now_ms() + 6 * 3_600_000
  for (; clock.now_ms() < upFrom_ms; clock.advance(60_000)) {
    says.splice(0, 1, failed())
    await orders.look()
  }
  test.ok(asked.length < 20, 'the CA is not asked all the time')
  says.splice(0, 1, ORDERED, { is: 'keyed', privateKey: next.key }, issued(next))
  while (clock.now_ms() < end_ms && says.length > 0) {
    clock.advance(60_000)
    await orders.look()
  }
  test.ok(Date.parse(stored.certificate.facts.validTo) > end_ms)
})

t.test('a certificate that an undo replaced by the self-signed one is ordered anew, once', async (test) => {
  const { orders, says, asked, stored, pair, issued } = fixture(test, [])
  const standIn = stored.certificate
  const [first, next] = [pair({ name: 'www.site.test', days: 90 }), pair({ name: 'www.site.test', days: 90 })]
  says.push(ORDERED, { is: 'keyed', privateKey: first.key }, issued(first))
  await orders.look()
  await orders.look()
  test.equal(asked.length, 3)
  stored.certificate = standIn
  says.push(ORDERED, { is: 'keyed', privateKey: next.key }, issued(next))
  await orders.look()
  test.equal(stored.certificate.facts.commonName, 'www.site.test')
  await orders.look()
  test.equal(asked.length, 6)
})

t.test('a renewal may be requested while a step is being stored', async (test) => {
  let faster = (): unknown => undefined
  const parts = fixture(test, [], {
    amend: async (_, change) => {
      faster()
      faster = () => undefined
      parts.stored.order = { ...parts.stored.order, ...change(parts.stored.order) }
    },
  })
  const { orders, kept, progress } = parts
  kept({ failures: 3, lastError: 'no' })
  faster = () => kept({ orderUrl: ORDERED.orderUrl })
  await orders.renew('o')
  test.match(progress(), { asked: true, orderUrl: ORDERED.orderUrl, failures: undefined })
})

t.test('a renewal that is requested while a CA creates an order causes no second order', async (test) => {
  const made = fixture(test, [], {
    async step(step) {
      made.asked.push(step)
      const first = made.asked.length === 1
      if (first) await made.orders.renew('o')
      return first ? ORDERED : failed()
    },
  })
  made.kept({ failures: 3, failedAt_ms: 0, wait_s: 1, lastError: 'no' })
  await made.orders.look()
  test.same(
    made.asked.map(({ progress }) => progress.orderUrl),
    [undefined, ORDERED.orderUrl],
  )
  test.equal(made.progress()?.asked, true)
  await made.orders.close()
})

t.test('a node that has failed lets the others try first: the CA may be unreachable for it alone', async (test) => {
  const { orders, says, asked, clock, kept } = fixture(test, [failed()], { hasOthers: () => true })
  await orders.look()
  clock.advance(300_000)
  await orders.look()
  test.equal(asked.length, 1, 'the turn of another node')
  clock.advance(6_000)
  says.push(failed())
  await orders.look()
  test.equal(asked.length, 2, 'where no other has tried')
  kept({ failures: 3, failedAt_ms: clock.now_ms() - 1, wait_s: 300 })
  clock.advance(300_000)
  says.push(failed())
  await orders.look()
  test.equal(asked.length, 3, 'another one has failed since')
  await orders.renew('o')
  says.push(failed())
  await orders.look()
  test.equal(asked.length, 4, 'an explicit request does not wait')
})

t.test('failures wait longer and longer, or as long as the CA asks, and keep what may still succeed', async (test) => {
  const { orders, says, asked, events, clock, progress } = fixture(test, [ORDERED, failed({ isOver: false })])
  await orders.look()
  test.match(progress(), { failures: 1, wait_s: 300, lastError: 'no', orderUrl: ORDERED.orderUrl })
  clock.advance(299_000)
  await orders.look()
  test.equal(asked.length, 2, 'not before')
  clock.advance(1_000)
  says.push(failed({ retryAfter_s: 7_200 }))
  await orders.look()
  test.match(progress(), { failures: 2, wait_s: 7_200, orderUrl: undefined })
  for (let days = 0; days < 9; days += 1) {
    clock.advance(DAY_S * 1_000)
    says.push(failed())
    await orders.look()
  }
  test.match(progress(), { failures: 11, wait_s: DAY_S }, 'the CA is down for days')
  test.match(events[1], { state: 'renewal failed', reason: 'no', failures: 2, nextTry: String })
  says.push(ORDERED, failed())
  await orders.renew('o')
  await orders.look()
  test.match(progress(), { failures: 1, asked: true }, 'a user did not want to wait')
})

t.test('a CA that never decides is left alone for a while', async (test) => {
  const waits: AcmeStepped[] = Array.from({ length: 100 }, () => WAITING)
  const made = fixture(test, [ORDERED, ...waits], { wait: async (ms) => made.clock.advance(ms) })
  await made.orders.look()
  test.match(made.progress(), { failures: 1, lastError: /two minutes/, orderUrl: ORDERED.orderUrl })
  test.equal(made.asked.length, 19)
})

t.test('the issued certificate has to be the ordered one', async (test) => {
  const { pair } = certificateMaker(test)
  const other = pair({ name: 'other.test', days: 90 })
  const cases = [
    [{ is: 'keyed', privateKey: other.key }, other.cert, /is not for www.site.test/],
    [{ is: 'keyed', privateKey: pair({ name: 'x.test' }).key }, other.cert, /cannot be used: does not match/],
    [{ is: 'keyed', privateKey: other.key }, 'nothing', /cannot be used/],
  ] as const
  for (const [keyed, chain, reason] of cases) {
    const { orders, progress, stored } = fixture(test, [ORDERED, keyed, { is: 'issued', chain }])
    await orders.look()
    test.match(progress(), { lastError: reason, orderUrl: undefined, privateKey: undefined })
    test.equal(stored.certificate.facts.commonName, 'old.test')
  }
})

t.test(
  'with a wrong clock no invalid certificate is put in place, and the CA is not asked again at once',
  async (test) => {
    const { orders, says, clock, pair, issued, progress, stored } = fixture(test, [])
    const made = pair({ name: 'www.site.test', days: 90 })
    clock.advance(400 * DAY_S * 1_000)
    says.push(ORDERED, { is: 'keyed', privateKey: made.key }, issued(made))
    await orders.look()
    test.match(progress(), { failures: 1, lastError: /has expired/ })
    test.equal(stored.certificate.facts.commonName, 'old.test')
    await orders.look()
    clock.advance(-400 * DAY_S * 1_000)
    const right = pair({ name: 'www.site.test', days: 90 })
    says.push(ORDERED, { is: 'keyed', privateKey: right.key }, issued(right))
    await orders.look()
    test.match(
      progress(),
      { issued: stored.certificate.facts.fingerprint },
      'when the clock is right again, it continues at once',
    )
  },
)

t.test('it waits for an apply of another user; a refused apply is retried later', async (test) => {
  const refusal = (code: 'APPLY_IN_PROGRESS' | 'CONFIG_INVALID') => new ApiError(code, 'no')
  const refusals = [refusal('APPLY_IN_PROGRESS'), refusal('APPLY_IN_PROGRESS')]
  let applied = 0
  const engine: AcmeOrdersParts['engine'] = {
    async applyUnstaged() {
      const next = refusals.shift()
      if (next !== undefined) throw next
      applied += 1
      return undefined as never
    },
  }
  const { orders, says, pair, issued, progress, clock } = fixture(test, [], { engine })
  const made = pair({ name: 'www.site.test', days: 90 })
  says.push(ORDERED, { is: 'keyed', privateKey: made.key }, issued(made))
  await orders.look()
  test.equal(applied, 1)
  refusals.push(refusal('CONFIG_INVALID'))
  const next = pair({ name: 'www.site.test', days: 91 })
  says.push(ORDERED, { is: 'keyed', privateKey: next.key }, issued(next))
  await orders.renew('o')
  await orders.look()
  test.match(progress(), {
    failures: 1,
    lastError: /It was issued, but/,
    orderUrl: ORDERED.orderUrl,
    privateKey: next.key,
  })
  clock.advance(300_000)
  says.push(issued(next))
  await orders.look()
  test.equal(applied, 2, 'the same certificate, without another order')
})

t.test("a CA is not asked without a way to answer it, nor during another node's turn", async (test) => {
  const unanswered = fixture(test, [], { whyUnanswered: () => 'needs a frontend' })
  await unanswered.orders.look()
  test.match(unanswered.progress(), { failures: 1, lastError: 'http-01 needs a frontend' })
  const waiting = fixture(test, [], { inTurn: async () => false })
  await waiting.orders.look()
  test.same([waiting.asked, waiting.progress()], [[], undefined])
})

t.test('a node without the turn requests it once per look for all orders', async (test) => {
  let asked = 0
  const { orders, stored } = fixture(test, [], {
    agreed: {
      get: (section, id) => view().get(section, id),
      list: (section) => view().list(section),
    },
    inTurn: async () => {
      asked += 1
      return false
    },
  })
  const view = (): ConfigView =>
    viewOf({
      acmeAccounts: [ACCOUNT],
      acmeOrders: ['one', 'two', 'three'].map((id) => ({ ...stored.order, id })),
      certificates: [stored.certificate],
    })
  await orders.look()
  test.equal(asked, 1)
})

t.test('concurrent changes by others are not overwritten', async (test) => {
  const made = fixture(test, [], {
    async step() {
      made.kept({ orderUrl: 'https://ca.test/of-another-node' })
      return ORDERED
    },
  })
  await made.orders.look()
  test.equal(made.progress()?.orderUrl, 'https://ca.test/of-another-node')
  test.same(made.events, [])
  await test.rejects(made.orders.renew('none'), { code: 'NOT_FOUND' })
})

t.test('a CA is not asked when the result could not be stored, and is left alone after a defect', async (test) => {
  let isFull = true
  const full = fixture(test, [], {
    async amend(_, change) {
      if (isFull) throw new Error('no space left on the disk')
      full.stored.order = { ...full.stored.order, ...change(full.stored.order) }
    },
  })
  await full.orders.look()
  test.same(full.asked, [])
  isFull = false
  full.says.push(failed({ reason: 'x'.repeat(9_000) }))
  await full.orders.look()
  test.same(full.asked, [], 'not at once')
  full.clock.advance(60_000)
  await full.orders.look()
  test.equal(full.progress()?.lastError?.length, 2_000)
})

t.test(
  'a defect in one order is its failure: others have their turn, and the CA is not asked again at once',
  async (test) => {
    const long = fixture(test, [{ ...ORDERED, orderUrl: `https://ca.test/${'x'.repeat(5_000)}` }], {
      async amend(_, change) {
        const { progress } = change(long.stored.order)
        if ((progress?.orderUrl?.length ?? 0) > 4_096) throw new Error('it does not fit its schema')
        long.stored.order = { ...long.stored.order, ...(progress === undefined ? {} : { progress }) }
      },
    })
    await long.orders.look()
    test.match(long.progress(), { failures: 1, wait_s: 300, lastError: /does not fit/ })
    test.match(long.events, [{ state: 'renewal failed' }])
    long.clock.advance(60_000)
    await long.orders.look()
    test.equal(long.asked.length, 1)
    long.clock.advance(240_000)
    long.says.push(failed())
    await long.orders.look()
    test.match(long.progress(), { failures: 2 }, 'the failure of one does not pause all')
  },
)

t.test('an order that fails repeatedly is replaced by a new one', async (test) => {
  const { orders, says, asked, clock, kept, progress } = fixture(test, [])
  kept({ orderUrl: ORDERED.orderUrl, accountUrl: ORDERED.accountUrl })
  for (let tries = 1; tries <= 8; tries += 1) {
    says.push(failed({ reason: 'serverInternal', isOver: false }))
    await orders.look()
    test.equal(progress()?.failures, tries)
    test.equal(progress()?.orderUrl, tries < 8 ? ORDERED.orderUrl : undefined)
    clock.advance(DAY_S * 1_000)
  }
  says.push(failed())
  await orders.look()
  test.equal(asked.at(-1)?.progress.orderUrl, undefined)
})

t.test('the end of the daemon does not wait for a silent CA', async (test) => {
  const asked = defer()
  const { orders, progress } = fixture(test, [], {
    step() {
      asked.resolve()
      return new Promise(() => {})
    },
  })
  const look = orders.look()
  await asked.promise
  await orders.close()
  await look
  test.same(Object.keys(progress() ?? {}), ['of'])
})

const PROMISED = [
  { name: '_acme-challenge.site.test', value: 'one' },
  { name: '_acme-challenge.site.test', value: 'two' },
]

/** An order by DNS-01, with answers of its script and of the name servers. */
function dnsFixture(test: Tap, says: AcmeStepped[], dns: object = {}) {
  const calls: string[] = []
  const said: { present?: string; remove?: string; invisible?: string } = {}
  const made = fixture(test, says, {
    records: {
      async present(_, answers) {
        calls.push(`present ${answers.length}`)
        return said.present
      },
      async remove(_, answers) {
        calls.push(`remove ${answers.length}`)
        return said.remove === undefined ? { left: [], why: undefined } : { left: [...answers], why: said.remove }
      },
    },
    async whyInvisible() {
      calls.push('look')
      return said.invisible
    },
  })
  made.stored.order = { ...made.stored.order, challenge: 'dns-01', dns: { scriptId: 's', ...dns } }
  return { ...made, calls, said }
}

t.test('records are created and visible before the CA validates, and removed afterwards', async (test) => {
  const { orders, says, asked, calls, progress, pair, issued } = dnsFixture(test, [])
  const made = pair({ name: 'www.site.test', days: 90 })
  says.push(
    ORDERED,
    { is: 'promised', answers: PROMISED },
    WAITING,
    { is: 'keyed', privateKey: made.key },
    issued(made),
  )
  await orders.look()
  test.same(calls, ['present 2', 'look', 'remove 2'])
  test.same(asked[2]?.progress.answers, PROMISED)
  test.same(Object.keys(progress() ?? {}).toSorted(), ['issued', 'issuedAt_ms', 'of'])
})

t.test('an order that waits for its records checks them every five seconds, for a limited time', async (test) => {
  const made = dnsFixture(test, [ORDERED, { is: 'promised', answers: PROMISED }], { delay: 7, visibleWithin: 10 })
  made.said.invisible = '192.0.2.53 does not show it'
  const { orders, clock, calls, progress } = made
  await orders.look()
  test.same(calls, ['present 2'], 'the delay')
  clock.advance(4_000)
  await orders.look()
  clock.advance(2_000)
  await orders.look()
  test.same(calls, ['present 2'])
  for (let seconds = 0; seconds < 12; seconds += 5) {
    clock.advance(5_000)
    await orders.look()
  }
  test.same(calls, ['present 2', 'look', 'look', 'look', 'remove 2'])
  test.match(progress(), {
    failures: 1,
    lastError: /^After \d+ s, 192\.0\.2\.53 does not show it$/,
    orderUrl: undefined,
  })
  test.equal(made.asked.length, 2, 'the CA was not told')
})

t.test('an open order continues after a crash, wherever that was', async (test) => {
  const { orders, says, calls, kept, progress } = dnsFixture(test, [])
  const under = { orderUrl: ORDERED.orderUrl, accountUrl: ORDERED.accountUrl, answers: PROMISED }
  kept(under)
  says.push(failed())
  await orders.look()
  test.same(calls, ['present 2', 'look', 'remove 2'], 'whether they were created is unknown')
  kept({ ...under, presentedAt_ms: Date.now(), isVisible: true })
  says.push(failed())
  await orders.look()
  test.same(calls.slice(3), ['remove 2'])
  kept({ failures: 1, failedAt_ms: Date.now() + 60_000, wait_s: 300, leftovers: PROMISED })
  says.push(failed())
  await orders.look()
  test.same(calls.slice(4), ['remove 2'])
  test.equal(progress()?.leftovers, undefined)
})

t.test('a failed removal is retried less and less often, and at once with the next end', async (test) => {
  const made = dnsFixture(test, [ORDERED, { is: 'promised', answers: PROMISED }])
  const { orders, says, said, calls, clock, progress } = made
  said.present = 'the script ended with 1'
  said.remove = 'it is down'
  await orders.look()
  test.match(progress(), { failures: 1, lastError: 'the script ended with 1', leftovers: PROMISED })
  await orders.look()
  test.same(calls, ['present 2', 'remove 2'], 'not at once')
  clock.advance(300_000)
  says.push(ORDERED, { is: 'promised', answers: PROMISED })
  await orders.look()
  test.equal(calls.at(-1), 'remove 4', 'with those of the next order')
  delete said.remove
  clock.advance(299_000)
  await orders.look()
  test.equal(calls.length, 4)
  clock.advance(1_000)
  await orders.look()
  test.equal(calls.at(-1), 'remove 4')
  test.equal(progress()?.leftovers, undefined)
})

t.test('the records of a deleted order are removed by the node that created them', async (test) => {
  const made = dnsFixture(test, [ORDERED, { is: 'promised', answers: PROMISED }], { delay: 60 })
  await made.orders.look()
  made.stored.order = { ...made.stored.order, id: 'another' }
  made.says.push(failed())
  await made.orders.look()
  test.same(made.calls, ['present 2', 'remove 2'])
  made.stored.order = { ...made.stored.order, id: 'o' }
  made.kept({ orderUrl: ORDERED.orderUrl, answers: PROMISED })
  await made.orders.look()
  test.same(made.calls.slice(2), ['present 2'], 'the wait of the previous order is forgotten')
})

t.test('records of an order that was replaced are removed', async (test) => {
  const { orders, says, calls, kept, progress } = dnsFixture(test, [])
  const old = [{ name: 'www.site.test', value: 'a digest for TLS-ALPN-01' }]
  kept({ of: 'before', orderUrl: ORDERED.orderUrl, answers: [...PROMISED, ...old], presentedAt_ms: 1 })
  says.push(failed())
  await orders.look()
  test.same(calls, ['remove 2'])
  test.equal(progress()?.leftovers, undefined)
})

t.test('the records of an order that is deleted after a crash are removed as well', async (test) => {
  const made = dnsFixture(test, [], { delay: 60 })
  const now_ms = made.clock.now_ms()
  made.kept({ orderUrl: ORDERED.orderUrl, answers: PROMISED, presentedAt_ms: now_ms })
  made.orders.start()
  await made.orders.look()
  test.same(made.calls, [], 'it waits for its records')
  made.stored.order = { ...made.stored.order, id: 'another' }
  made.kept({ failures: 1, failedAt_ms: now_ms, wait_s: DAY_S })
  await made.orders.look()
  test.same(made.calls, ['remove 2'])
  await made.orders.close()
})

t.test('removing the records of a deleted order is retried as well', async (test) => {
  const made = dnsFixture(test, [ORDERED, { is: 'promised', answers: PROMISED }], { delay: 60 })
  made.said.remove = 'it is down'
  await made.orders.look()
  made.stored.order = { ...made.stored.order, id: 'another' }
  made.kept({ failures: 1, failedAt_ms: made.clock.now_ms(), wait_s: DAY_S })
  await made.orders.look()
  test.same(made.calls, ['present 2', 'remove 2'])
  delete made.said.remove
  made.clock.advance(300_000)
  await made.orders.look()
  test.same(made.calls.slice(2), ['remove 2'])
})

t.test('an order with nothing to do is noticed once per look', async (test) => {
  let found = 0
  const made = fixture(test, [], {
    agreed: {
      get: (section, id) => {
        if (section === 'acmeOrders') found += 1
        return view().get(section, id)
      },
      list: (section) => view().list(section),
    },
  })
  const view = (): ConfigView =>
    viewOf({
      acmeAccounts: [ACCOUNT],
      acmeOrders: [made.stored.order],
      certificates: [made.stored.certificate],
    })
  made.kept({ failures: 1, failedAt_ms: made.clock.now_ms(), wait_s: 300 })
  await made.orders.look()
  test.equal(found, 1)
})
