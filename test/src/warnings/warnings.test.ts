import t from 'tap'
import type { SnmpUser } from '../../../src/model/snmp.ts'
import { warningsOf } from '../../../src/warnings/warnings.ts'
import { digestOf } from '../../../src/rules/acme.ts'
import { acmeAccount, acmeOrder } from '../../fixtures/acme.ts'
import { certificateRecord } from '../../fixtures/certificate.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'
import { backend, frontend, realServer } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const DAY_MS = 86_400_000
const CHANGED = [{ section: 'realServers', id: 'r' }] as const

t.test('effects of changes are reported; earlier conditions are not, unless they were touched', async (test) => {
  const records = { l7Frontends: [frontend('f', 'b')], l7Backends: [backend('b', ['r'])] }
  const online = viewOf({ ...records, realServers: [realServer('r')] })
  const halted = viewOf({ ...records, realServers: [realServer('r', { state: 'halted' })] })
  const codes = async (...of: Parameters<typeof warningsOf>) => (await warningsOf(...of)).map(({ code }) => code)
  test.same(await codes(online, halted, CHANGED, 0), ['NO_SERVER_LEFT'])
  test.same(await codes(online, halted, [], 0), [], 'nothing is pending')
  test.same(await codes(halted, halted, CHANGED, 0), [], 'it was so before')
  test.same(await codes(halted, halted, [{ section: 'l7Frontends', id: 'f' }], 0), ['NO_SERVER_LEFT'])
  test.same(await codes(halted, online, CHANGED, 0), [])
})

t.test('CERTIFICATE_EXPIRES: within 30 days, where it is presented', async (test) => {
  const certificate = await certificateRecord(test, 'c')
  const end_ms = Date.parse(certificate.facts.validTo)
  const records = { certificates: [certificate], realServers: [realServer('r')], l7Backends: [backend('b', ['r'])] }
  const used = viewOf({ ...records, l7Frontends: [frontend('f', 'b', { certificates: ['c'] })] })
  const unused = viewOf(records)
  const told = async (now_ms: number, desired = used) =>
    (await warningsOf(unused, desired, [{ section: 'l7Frontends', id: 'f' }], now_ms)).map(({ message }) => message)
  test.match(await told(end_ms - 29 * DAY_MS), [/^The certificate Certificate c \(c\) expires at /])
  test.match(await told(end_ms + DAY_MS), [/has expired at/])
  test.same(await told(end_ms - 31 * DAY_MS), [])
  test.same(await told(end_ms, unused), [])
  const acme = { acmeAccounts: [acmeAccount('a')], acmeOrders: [acmeOrder('o', 'a', { certificateId: 'c' })] }
  const validFrom = new Date(end_ms - 6 * DAY_MS).toISOString()
  const short = { certificates: [{ ...certificate, facts: { ...certificate.facts, validFrom } }] }
  const renewed = viewOf({ ...records, ...short, ...acme, l7Frontends: [frontend('f', 'b', { certificates: ['c'] })] })
  const isTold = async (now_ms: number) => (await told(now_ms, renewed)).some((text) => text.includes('expires'))
  test.equal(await isTold(end_ms - 1.1 * DAY_MS), false, 'an order renews it')
  test.equal(await isTold(end_ms - 0.9 * DAY_MS), true, 'it should have been renewed by now')
})

t.test('CERTIFICATE_EXPIRES: an issuer in its chain counts as well', async (test) => {
  const { pair, record } = certificateMaker(test)
  const issuer = pair({ name: 'Issuer', isCa: true, issuer: pair({ name: 'Root', isCa: true }), days: 5 })
  const certificates = [record('c', pair({ name: 'leaf.test', issuer, days: 300 }), issuer)]
  const desired = viewOf({ certificates, l7Frontends: [frontend('f', null, { certificates: ['c'] })] })
  const warnings = await warningsOf(viewOf({}), desired, [{ section: 'l7Frontends', id: 'f' }], Date.now())
  const expiring = warnings.filter(({ code }) => code === 'CERTIFICATE_EXPIRES')
  test.match(expiring, [{ message: / is sent with an issuer that expires at \d{4}-\d\d-\d\dT[\d:.]+Z: replace it$/ }])
})

t.test('SNMP_USER_INCOMPLETE: the agent would not know the user', async (test) => {
  const user: SnmpUser = {
    id: 'u',
    username: 'watcher',
    writeAccess: false,
    authAlgorithm: 'sha',
    privacyAlgorithm: 'aes',
    authKey: 'ab',
    privacyKey: '',
  }
  const view = viewOf({ snmpUsers: [user] })
  test.match(await warningsOf(viewOf({}), view, [{ section: 'snmpUsers', id: 'u' }], 0), [
    { code: 'SNMP_USER_INCOMPLETE', name: 'watcher', message: /lacks privacyPassphrase/ },
  ])
})

t.test('RENEWAL_FAILS after three times, CHALLENGE_UNANSWERED where a CA would get no answer', async (test) => {
  const account = acmeAccount('a')
  const acmeAccounts = [account]
  const failed = (failures: number) => {
    const order = acmeOrder('o', 'a')
    const progress = { of: digestOf(order, account), failures, lastError: 'no such host' }
    return { ...order, progress }
  }
  const l7Frontends = [frontend('f', null, { ports: '80' })]
  const told = async (failures: number, frontends = l7Frontends) => {
    const desired = viewOf({ acmeAccounts, acmeOrders: [failed(failures)], l7Frontends: frontends })
    const changes = [{ section: 'acmeOrders', id: 'o' }] as const
    const found = await warningsOf(viewOf({}), desired, changes, 0)
    return found.filter(({ resource }) => resource === 'acmeOrders').map(({ code, message }) => `${code} ${message}`)
  }
  test.same(await told(2), [])
  test.match(await told(3), [/^RENEWAL_FAILS The ACME order o \(o\) has failed 3 times: no such host$/])
  test.match(await told(0, []), [/^CHALLENGE_UNANSWERED The ACME order o \(o\) needs an enabled frontend .* port 80/])
})
