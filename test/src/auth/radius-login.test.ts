import t, { type Test } from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import type { ConfigView } from '../../../src/model/sections.ts'
import type { RadiusConfig } from '../../../src/model/sign-in.ts'
import { LOGINS_MAX, radiusLogin, WAITING_EACH_MAX } from '../../../src/auth/radius-login.ts'
import { CODE, decodePacket, TYPE, valuesOf } from '../../../src/radius/packet.ts'
import { refuses } from '../../fixtures/config.ts'
import { answerTo, type Handler, radiusConfig, radiusServer, silentHost } from '../../simulators/radius-server.ts'
import { viewOf } from '../../fixtures/view.ts'
import { untilHolds } from '../../fixtures/until.ts'

const loginAt = (...configs: readonly RadiusConfig[]) =>
  radiusLogin({ running: viewOf({ radiusConfigs: configs }), log: silentLog })

async function verdictOf(test: Test, handle: Handler, more: Partial<RadiusConfig> = {}) {
  const { host } = await radiusServer(test, handle)
  return loginAt(radiusConfig([host], more)).authenticate('nemo', 'arctangent', '')
}
const says =
  (...groups: readonly string[]): Handler =>
  (request, reply) =>
    reply(answerTo(request, { attributes: groups.map((value) => ({ type: 25, value: Buffer.from(value) })) }))

t.test('off: nothing stored, not enabled, or no servers', async (test) => {
  const host = await silentHost(test)
  for (const config of [[], [radiusConfig([host], { enabled: false })], [radiusConfig([])]]) {
    test.same(await loginAt(...config).authenticate('nemo', 'arctangent', ''), { outcome: 'off' })
  }
})

t.test('accepted with the groups of the mappings', async (test) => {
  const groupMappings = [
    { value: 'ops', groupId: 'g1' },
    { value: 'admins', groupId: 'g2' },
  ]
  test.same(await verdictOf(test, says('ops', 'other'), { groupMappings }), { outcome: 'accepted', groups: ['g1'] })
  test.same(await verdictOf(test, says('admins', 'ops'), { groupMappings }), {
    outcome: 'accepted',
    groups: ['g1', 'g2'],
  })
  test.same(await verdictOf(test, says('other'), { groupMappings }), { outcome: 'accepted', groups: [] })
  test.same(await verdictOf(test, says('other'), { groupMappings, denyUnmapped: true }), { outcome: 'refused' })
})

t.test('a configuration applied while a server is asked counts', async (test) => {
  const groupMappings = [{ value: 'ops', groupId: 'g1' }]
  const { host } = await radiusServer(test, (request, reply, from) => {
    stored = next
    says('ops')(request, reply, from)
  })
  const before = radiusConfig([host], { groupMappings })
  let stored = before
  let next = before
  const running = { get: () => stored, list: () => [] } as unknown as ConfigView
  const login = radiusLogin({ running, log: silentLog })
  const authenticate = (name: string, password: string) => login.authenticate(name, password, '')
  next = { ...before, groupMappings: [{ value: 'ops', groupId: 'g2' }] }
  test.same(await authenticate('nemo', 'arctangent'), { outcome: 'accepted', groups: ['g2'] })
  next = { ...before, enabled: false }
  test.same(await authenticate('nemo', 'arctangent'), { outcome: 'off' })
})

t.test('refused, and unreachable', async (test) => {
  const rejects: Handler = (request, reply) => reply(answerTo(request, { code: CODE.accessReject }))
  test.same(await verdictOf(test, rejects), { outcome: 'refused' })
  const config = radiusConfig([await silentHost(test)])
  test.same(await loginAt(config).authenticate('nemo', 'arctangent', ''), { outcome: 'unreachable' })
})

t.test(
  'RATE_LIMITED: more concurrent logins from one place than may wait; another place has its turn',
  async (test) => {
    const waiting: { name: string; answer: () => void }[] = []
    const { host } = await radiusServer(test, (request, reply) => {
      const name = String(valuesOf(decodePacket(request)?.attributes ?? [], TYPE.userName)[0])
      waiting.push({ name, answer: () => reply(answerTo(request)) })
    })
    const login = loginAt(radiusConfig([host], { timeout: 60 }))
    const authenticate = (name: string, place: string) => login.authenticate(name, 'arctangent', place)
    const asked = (count: number) => untilHolds(() => waiting.length >= count)
    const flood = Array.from({ length: LOGINS_MAX + WAITING_EACH_MAX }, () => authenticate('nemo', 'one place'))
    const error = await refuses(test, 'RATE_LIMITED', authenticate('nemo', 'one place'))
    test.match(error.details.headers, { 'Retry-After': /^\d+$/ })
    const other = authenticate('ned', 'another place')
    await asked(LOGINS_MAX)
    waiting[0]?.answer()
    waiting[1]?.answer()
    await asked(LOGINS_MAX + 2)
    test.ok(waiting.slice(LOGINS_MAX).some(({ name }) => name === 'ned'))
    for (let n = 2; n < LOGINS_MAX + WAITING_EACH_MAX + 1; n++) {
      await asked(n + 1)
      waiting[n]?.answer()
    }
    for (const verdict of await Promise.all([...flood, other])) test.equal(verdict.outcome, 'accepted')
  },
)
