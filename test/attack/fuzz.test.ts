import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { ADMIN, type Caller, applianceFixture } from '../fixtures/appliance.ts'
import { createUser, PASSWORD, roleIds } from './attack-fixture.ts'
import { answering, damaged, described, faultOf, fuzzed, isSlow, samplesOf } from './fuzz-fixture.ts'
import { Dice, requestFor } from './request-maker.ts'
import { certificatePair } from './whole-node.ts'

/** 1,000,000 in the long run: FULCRUM_ATTACK_REQUESTS=1000000, perhaps with another FULCRUM_ATTACK_SEED. */
const REQUESTS = Number(process.env['FULCRUM_ATTACK_REQUESTS'] ?? 2_000)
const SEED = Number(process.env['FULCRUM_ATTACK_SEED'] ?? 20_261_120)
const APPLY_EVERY = 200
const FORGET_EVERY = 1000
const PEOPLE_EVERY = 900
/** A transaction is opened midway between two that are ended. */
const TRANSACTION_EVERY = 300
const MEBIBYTE = 2 ** 20
// As long as needed.
t.setTimeout(0)

function memory(): { readonly heap: number; readonly rss: number } {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect === 'function') for (let n = 0; n < 3; n += 1) collect()
  const { heapUsed, rss } = process.memoryUsage()
  return { heap: heapUsed / MEBIBYTE, rss: rss / MEBIBYTE }
}

/** Tokens of users with other roles, and of programs: forbidden requests are refused, allowed ones are carried out. */
async function others(
  call: Caller,
  anonymous: Caller,
  login: (email: string, password: string) => Promise<string>,
  since = '',
) {
  const roles = Object.entries(await roleIds(call))
  for (const [name, id] of roles) await createUser(call, `${name}${since}@example.org`, [id])
  await call('PUT', '/services/apply')
  const tokens: string[] = []
  for (const [name] of roles) {
    const token = await login(`${name}${since}@example.org`, PASSWORD)
    const made = await anonymous('POST', '/localUsers/me/tokens', { token, body: { name: 'program' } })
    tokens.push(token, String(made.json.data.token))
  }
  return tokens
}

t.test(
  `fuzz: ${REQUESTS} requests made from the schemas: no crash, no defect, no leak (seed ${SEED})`,
  async (test) => {
    test.setTimeout(0)
    const unhandled: unknown[] = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', note)
    test.teardown(() => process.off('unhandledRejection', note))
    const { call, anonymous, node, login, machine } = await applianceFixture(test)
    const dice = new Dice(SEED)
    let people = await others(call, anonymous, login)
    const backup = (await call('GET', '/backup')).text
    const { cert, privateKey } = certificatePair(test)
    let token: string | undefined
    // The first session ends when fifty others have begun.
    const current: Caller = (method, path, sent) =>
      call(method, path, { ...(token === undefined ? {} : { token }), ...sent })
    const look = () =>
      samplesOf(current, node, {
        backup: Array.from({ length: 8 }, () => damaged(backup, dice)),
        cert: [damaged(cert, dice), cert],
        privateKey: [damaged(privateKey, dice), privateKey],
        pem: [damaged(cert + privateKey, dice), cert + privateKey],
        packages: ['', 'ITxhcmNoPgo=', Buffer.from('!<arch>\ndebian-binary').toString('base64')],
      })
    const faults: string[] = []
    const statuses: Record<number, number> = {}
    let transaction: string | undefined
    let samples = await look()
    let halfWay = memory()
    for (let n = 0; n < REQUESTS && faults.length < 10; n += 1) {
      const own = token === undefined ? {} : { token }
      if (n === Math.floor(REQUESTS / 2)) halfWay = memory()
      if (n % 50_000 === 49_999) test.comment(`${n + 1} requests: ${JSON.stringify(statuses)}`)
      if (n % FORGET_EVERY === FORGET_EVERY - 1) await call('DELETE', '/services/pending', own)
      if (n % APPLY_EVERY === APPLY_EVERY - 1) {
        await call('PUT', '/services/apply', own)
        // Records of a recording machine are not memory of the daemon.
        machine.host.takeJournal()
        samples = await look()
      }
      if (n % TRANSACTION_EVERY === 0 && transaction !== undefined) {
        await call('PUT', `/transactions/${transaction}/${dice.chance(0.5) ? 'commit' : 'rollback'}`, own)
        transaction = undefined
      } else if (n % TRANSACTION_EVERY === TRANSACTION_EVERY / 2)
        transaction = (await call('POST', '/transactions', own)).json?.data?.id
      // Some were deleted, others logged out: recreated as at the beginning, with the current records.
      if (n % PEOPLE_EVERY === PEOPLE_EVERY - 1)
        people = await others(current, anonymous, login, `-${n}`).catch(() => people)
      const endpoint = dice.of(fuzzed)
      if (isSlow(endpoint) && !dice.chance(0.02)) continue
      const made = requestFor(endpoint, dice, samples)
      const headers: Record<string, string> =
        transaction !== undefined && dice.chance(0.4) ? { 'x-transaction-id': transaction } : {}
      const isOther = dice.chance(0.15)
      const sent = {
        ...(made.raw === undefined ? {} : { raw: made.raw }),
        headers,
        ...(isOther ? { token: dice.of(people) } : own),
      }
      const answer = await (dice.chance(0.02) ? anonymous : call)(made.method, made.path, sent)
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
      const fault = faultOf(answering(endpoint, made), answer)
      if (fault !== undefined) faults.push(`${described(made)}: ${fault}`)
      // It logged itself out, or changed its own password.
      if (!isOther && (answer.status === 401 || endpoint.name === 'auth.logout'))
        token = await login(ADMIN.email, ADMIN.password)
    }
    test.same(faults, [])
    test.same(unhandled, [])
    const end = memory()
    const grown = end.heap - halfWay.heap
    test.comment(`answers by status: ${JSON.stringify(statuses)}`)
    test.comment(
      `heap ${halfWay.heap.toFixed(1)} MiB half way, ${end.heap.toFixed(1)} at the end; of the process ${halfWay.rss.toFixed(0)} and ${end.rss.toFixed(0)}`,
    )
    // Records created by the requests stay; a leak per request would be far larger in the long run.
    test.ok(grown < 64, `${grown} MiB`)
  },
)
