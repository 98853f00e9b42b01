import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import type { RadiusConfig, RadiusHost } from '../../../src/model/sign-in.ts'
import { type ClientParts, RadiusClient } from '../../../src/radius/client.ts'
import { CODE } from '../../../src/radius/packet.ts'
import {
  answerTo,
  closedHost,
  type Handler,
  radiusConfig,
  radiusServer,
  SECRET,
  silentHost,
} from '../../simulators/radius-server.ts'

const accepts: Handler = (request, reply) => reply(answerTo(request))
const rejects: Handler = (request, reply) => reply(answerTo(request, { code: CODE.accessReject }))

const client = (more: Partial<ClientParts> = {}) => new RadiusClient({ log: silentLog, ...more })
const ask = (hosts: readonly RadiusHost[], more: Partial<RadiusConfig> = {}, asked = client()) =>
  asked.ask(radiusConfig(hosts, more), 'nemo', 'arctangent')

t.test('the next server is asked when one is silent, and immediately the next time', async (test) => {
  const silent = await silentHost(test)
  const { host } = await radiusServer(test, accepts)
  const same = client()
  const first = await ask([silent, host], {}, same)
  test.match(first, {
    outcome: 'accepted',
    attempts: [{ outcome: 'silent' }, { port: host.port, outcome: 'accepted' }],
  })
  const second = await ask([silent, host], {}, same)
  test.same(
    second.attempts.map(({ port }) => port),
    [host.port],
  )
})

t.test('the lowest priority is asked first; a refusal is final', async (test) => {
  const [no, yes] = [await radiusServer(test, rejects), await radiusServer(test, accepts)]
  const hosts = [
    { ...yes.host, priority: 2 },
    { ...no.host, priority: 1 },
  ]
  test.match(await ask(hosts), { outcome: 'refused', attempts: [{ port: no.port, outcome: 'refused' }] })
  test.equal(yes.requests.length, 0)
})

t.test('no answer: the reason of each server', async (test) => {
  const forger = await radiusServer(test, (request, reply) => reply(answerTo(request, { secret: 'guessed' })))
  const hosts = [await closedHost(test), forger.host, { ...forger.host, host: 'no.such.name.invalid' }]
  const resolve = async () => Promise.reject(new Error('ENOTFOUND'))
  const result = await ask(hosts, {}, client({ resolve }))
  test.match(result, {
    outcome: 'unreachable',
    attempts: [{ outcome: 'unreachable' }, { outcome: 'forged' }, { outcome: 'unresolved', address: '' }],
  })
})

t.test('the time for all servers together is limited, and the last one has its share', async (test) => {
  const { host } = await radiusServer(test, accepts)
  const hosts = [await silentHost(test), await silentHost(test), host]
  const slow = { timeout: 60, retries: 10 }
  test.match(await ask(hosts, slow, client({ deadline_ms: 4_500 })), { outcome: 'accepted' })
  const silent = await ask(hosts.slice(0, 2), slow, client({ deadline_ms: 300 }))
  test.equal(silent.outcome, 'unreachable')
})

t.test('a name with several addresses: all of them are asked', async (test) => {
  const { host } = await radiusServer(test, accepts, '127.0.0.1')
  const resolve = async () => ['::1', '127.0.0.1']
  const result = await ask([{ ...host, host: 'radius.test' }], {}, client({ resolve }))
  test.match(result, {
    outcome: 'accepted',
    attempts: [
      { host: 'radius.test', address: '::1', outcome: 'unreachable' },
      { host: 'radius.test', address: '127.0.0.1', outcome: 'accepted' },
    ],
  })
})

t.test('each server with its own secret', async (test) => {
  const { host } = await radiusServer(test, (request, reply) => reply(answerTo(request, { secret: 'own' })))
  test.match(await ask([{ ...host, sharedSecret: 'own' }]), { outcome: 'accepted' })
  test.match(await ask([host]), { outcome: 'unreachable', attempts: [{ outcome: 'forged' }] })
})

t.test('a request that cannot be sent asks no server', async (test) => {
  const { host, requests } = await radiusServer(test, accepts)
  const result = await client().ask(radiusConfig([host]), 'nemo', 'x'.repeat(129))
  test.match(result, { outcome: 'refused', why: /128 bytes/, attempts: [] })
  test.equal(requests.length, 0)
})

t.test('a change of a server is logged once, with neither secret nor password', async (test) => {
  const lines: string[] = []
  const note = (message: string, fields?: object) => lines.push(JSON.stringify([message, fields]))
  const asked = client({ log: { info: note, warn: note, error: note } })
  const host = await closedHost(test)
  await ask([host], {}, asked)
  await ask([host], {}, asked)
  test.equal(lines.length, 1)
  test.match(lines[0], /a RADIUS server does not answer/)
  test.notMatch(lines[0], new RegExp(`${SECRET}|arctangent`))
})
