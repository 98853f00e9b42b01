import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import type { RadiusHost } from '../../../src/model/sign-in.ts'
import { radiusProbe, TESTS_MAX } from '../../../src/auth/radius-test.ts'
import { CODE } from '../../../src/radius/packet.ts'
import { refuses } from '../../fixtures/config.ts'
import { answerTo, type Handler, radiusConfig, radiusServer, silentHost } from '../../simulators/radius-server.ts'
import { viewOf } from '../../fixtures/view.ts'

const NEMO = { id: 'r', username: 'Nemo', disabled: true, groups: [], createdAt: '2026-01-01T00:00:00.000Z' }
const MAPPED = { groupMappings: [{ value: 'ops', groupId: 'g1' }], denyUnmapped: true }

const probe = (radiusUsers: readonly (typeof NEMO)[] = [], resolve = async () => Promise.reject(new Error('no'))) =>
  radiusProbe({ running: viewOf({ radiusUsers }), log: silentLog, resolve })
const tested = (hosts: readonly RadiusHost[], more: object = MAPPED, by = probe()) =>
  by.test(radiusConfig(hosts, more), 'nemo', 'arctangent')
const says =
  (value: string, code: number = CODE.accessAccept): Handler =>
  (request, reply) =>
    reply(answerTo(request, { code, attributes: [{ type: 25, value: Buffer.from(value) }] }))

t.test('stage resolve: no name is known', async (test) => {
  const host = { host: 'no.test', port: 1, sharedSecret: '', priority: 0 }
  test.match(await tested([host]), {
    stage: 'resolve',
    ok: false,
    message: 'no.test port 1: the name cannot be resolved',
  })
})

t.test('stage connect: the answer distinguishes a wrong secret from silence', async (test) => {
  const silent = await tested([await silentHost(test)])
  test.match(silent, { stage: 'connect', ok: false, message: /no answer: .*another shared secret/ })
  const forger = await radiusServer(test, (request, reply) => reply(answerTo(request, { secret: 'guessed' })))
  test.match(await tested([forger.host]), {
    stage: 'connect',
    ok: false,
    message: /answers with a different shared secret/,
  })
  const old = await radiusServer(test, (request, reply) => reply(answerTo(request, { messageAuthenticator: 'none' })))
  test.match(await tested([old.host]), { stage: 'connect', ok: false, message: /without Message-Authenticator/ })
})

t.test('stage authenticate: the server refuses', async (test) => {
  const { host } = await radiusServer(test, says('ops', CODE.accessReject))
  test.match(await tested([host]), {
    stage: 'authenticate',
    ok: false,
    message: /refuses/,
    attempts: [{ outcome: 'refused' }],
  })
})

t.test('stage authorize: groups, no groups, and a user who is disabled here', async (test) => {
  const { host } = await radiusServer(test, says('ops'))
  test.match(await tested([host]), {
    stage: 'authorize',
    ok: true,
    values: ['ops'],
    groups: ['g1'],
    message: /Class: ops/,
  })
  const other = { ...MAPPED, groupMappings: [{ value: 'admins', groupId: 'g2' }] }
  test.match(await tested([host], other), {
    stage: 'authorize',
    ok: false,
    values: ['ops'],
    message: /No group mapping.* Class: ops/,
  })
  test.match(await tested([host], MAPPED, probe([NEMO])), {
    stage: 'authorize',
    ok: false,
    message: /disabled on the appliance/,
  })
})

t.test('TOO_MANY_AT_ONCE: more tests at once than may wait', async (test) => {
  const by = probe()
  const hosts = [await silentHost(test)]
  const first = Array.from({ length: TESTS_MAX }, () => tested(hosts, MAPPED, by))
  await refuses(test, 'TOO_MANY_AT_ONCE', tested(hosts, MAPPED, by))
  for (const { ok } of await Promise.all(first)) test.notOk(ok)
  test.match(await tested(hosts, MAPPED, by), { stage: 'connect' })
})
