import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort } from '../fixtures/traffic.ts'
import { conversation, echoOrigin } from './haproxy-traffic.ts'

t.setTimeout(1_800_000)

t.test('a drain with wait and then: a job follows the last connections and takes the server out', async (test) => {
  const daemon = await daemonFixture(test)
  const made = async (path: string, body: object) => (await daemon.call('POST', path, { body })).json.data.id
  const port = await freePort()
  const server = { ip: '127.0.0.1', weight: 100 }
  const [first, second] = [
    await made('/ipvsDirector/rips', { ...server, name: 'first', port: await echoOrigin(test, 'first') }),
    await made('/ipvsDirector/rips', { ...server, name: 'second', port: await echoOrigin(test, 'second') }),
  ]
  const backend = { name: 'be', mode: 'tcp', reals: [{ ripId: first }], healthCheck: { type: 'none' } }
  const backendId = await made('/layer7proxy/backends', backend)
  const frontend = { name: 'fe', mode: 'tcp', ip: '127.0.0.1', ports: String(port), defaultBackendId: backendId }
  await made('/layer7proxy/frontends', frontend)
  const apply = async () => test.equal((await daemon.call('PUT', '/services/apply')).status, 200)
  await apply()
  const long = await conversation(test, port)
  test.equal(await long.say('hello'), 'first hello')
  const both = [{ ripId: first }, { ripId: second }]
  await daemon.call('PUT', `/layer7proxy/backends/${backendId}`, { body: { reals: both } })
  await apply()

  const drained = await daemon.call('PUT', `/ipvsDirector/rips/${first}/drain?wait=10m&then=halt`)
  test.match(drained, { status: 202, json: { data: [], job: String } })
  test.equal(drained.headers['location'], `/api/v1/jobs/${drained.json.job}`)
  const path = `/jobs/${drained.json.job}`
  const job = async () => (await daemon.call('GET', path)).json.data
  test.match(drained.json.message, /gets no new clients; on Layer 7, those bound to it by cookie or stick table still/)
  test.match(await job(), { state: 'running', step: /apply/ }, 'it waits for the apply')
  test.match(await job(), { title: `Drain of real server first (${first})`, resourceId: first })
  test.equal(
    (await daemon.call('PUT', `/ipvsDirector/rips/${first}/drain?wait=10m`)).status,
    409,
    'one drain at a time',
  )
  const other = await made('/ipvsDirector/rips', { ...server, name: 'other', port: 9 })
  await apply()
  await daemon.call('PUT', `/ipvsDirector/rips/${other}`, { body: { port: 10 } })
  await until('the connection to be seen', job, ({ step }) => step === '1 connection is left')
  const next = await conversation(test, port)
  test.equal(await next.say('new'), 'second new', 'new connections use another server')
  test.equal(await long.say('still here'), 'first still here', 'the open connection stays')
  // A reload leaves the connection with a worker that accepts no new ones.
  await daemon.data('PUT', `/layer7proxy/backends/${backendId}`, { timeoutServer: 900 })
  const { changes: reloading } = await daemon.data('GET', '/services/pending')
  const own = reloading.find(({ resourceId }: { readonly resourceId: string }) => resourceId === backendId)
  test.equal(own.effect, 'reload')
  await daemon.data('PUT', '/services/apply', { changes: [own.id] })
  test.equal(await long.say('and now'), 'first and now')
  await sleep(6_000)
  const isCounted = ({ state, step }: { readonly state: string; readonly step: string }) =>
    state !== 'running' || step === '1 connection is left'
  test.match(await until('it to be counted', job, isCounted), { state: 'running', step: '1 connection is left' })
  long.end()
  test.match(await until('the end of the job', job, ({ state }) => state !== 'running'), {
    state: 'succeeded',
    result: { ripId: first, connections: 0, halted: true },
  })
  test.equal((await daemon.call('GET', `/ipvsDirector/rips/${first}`)).json.data.state, 'halted')
  const { changes } = (await daemon.call('GET', '/services/pending')).json.data
  test.match(changes, [{ resourceId: other }], 'changes that another user has pending stay pending')
  test.match((await daemon.call('GET', '/revisions')).json.data[0].comment, /^drained, job /)
})

t.test('a job that waits for connections can be cancelled; the server stays drained', async (test) => {
  const daemon = await daemonFixture(test)
  const made = await daemon.call('POST', '/ipvsDirector/rips', { body: { name: 'r', ip: '127.0.0.1', port: 9 } })
  const { id } = made.json.data
  const drained = await daemon.call('PUT', `/ipvsDirector/rips/${id}/drain?wait=10m`)
  const path = `/jobs/${drained.json.job}`
  const job = () => daemon.data('GET', path)
  await until('the job', job, ({ canCancel }) => canCancel)
  test.equal((await daemon.call('PUT', `${path}/cancel`)).status, 200)
  await until('its end', job, ({ state }) => state === 'cancelled')
  test.equal((await daemon.call('GET', `/ipvsDirector/rips/${id}`)).json.data.state, 'drained')
  test.match((await daemon.call('PUT', `/ipvsDirector/rips/${id}/drain?then=halt`)).json, { code: 'INVALID_QUERY' })
  for (const wait of ['0', '32d', 'soon', '1h30m']) {
    test.equal((await daemon.call('PUT', `/ipvsDirector/rips/${id}/drain?wait=${wait}`)).status, 422, wait)
  }
})

t.test('in trial the kernel balances nothing, so no drain waits for it', async (test) => {
  const daemon = await daemonFixture(test)
  const { id: ripId } = await daemon.data('POST', '/ipvsDirector/rips', { name: 'r', ip: '127.0.0.1', port: 9 })
  const reals = [{ ripId }]
  const { id: backendId } = await daemon.data('POST', '/ipvsDirector/backends', { name: 'be', reals })
  const frontend = { name: 'fe', ip: '192.0.2.10', ports: '80', protocol: 'tcp', forwarding: 'masq', backendId }
  await daemon.data('POST', '/ipvsDirector/frontends', frontend)
  const { job } = (await daemon.call('PUT', `/ipvsDirector/rips/${ripId}/drain?wait=60s&then=halt`)).json
  const applied = await daemon.call('PUT', '/services/apply')
  test.equal(applied.headers['x-dry-run'], 'true')
  const ended = await until(
    'the end of the job',
    () => daemon.data('GET', `/jobs/${job}`),
    ({ state }) => state !== 'running',
  )
  test.match(ended, { state: 'succeeded', result: { connections: 0, halted: true } }, JSON.stringify(ended))
})
