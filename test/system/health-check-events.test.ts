import { once } from 'node:events'
import { createServer } from 'node:net'
import { request as httpsRequest } from 'node:https'
import t from 'tap'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { sandboxProblem } from '../fixtures/sandbox.ts'
import { freePort } from '../fixtures/traffic.ts'

const skip = sandboxProblem()
const SCRIPT = '#!/bin/bash\n(exec 3<>"/dev/tcp/$3/$4") 2>/dev/null || exit 7\n'

async function originOn(port: number) {
  const server = createServer((socket) => socket.on('error', () => undefined)).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

t.test("a user's own check, from its script to the event that reports its exit status", { skip }, async (test) => {
  const daemon = await daemonFixture(test)
  const port = await freePort()
  const first = await originOn(port)
  const id = async (path: string, body: object) => (await daemon.call('POST', path, { body })).json.data.id
  const check = await id('/healthchecks', { name: 'own', description: '', script: SCRIPT, services: ['layer-7'] })
  const tried = async () =>
    (await daemon.call('POST', `/healthchecks/${check}/test`, { body: { ip: '127.0.0.1', port } })).json.data
  test.match(await tried(), { exitCode: 0, up: true })
  const rip = await id('/ipvsDirector/rips', { name: 'web 1', ip: '127.0.0.1', port })
  await id('/layer7proxy/backends', {
    name: 'shop',
    mode: 'tcp',
    reals: [{ ripId: rip }],
    healthCheck: { type: 'script', id: check, interval: 1, rise: 1, fall: 1 },
  })
  let told = ''
  const headers = { authorization: `Bearer ${await daemon.login()}` }
  const options = { host: '127.0.0.1', port: daemon.port, path: '/api/v1/events', rejectUnauthorized: false, headers }
  const stream = httpsRequest(options, (answer) => answer.setEncoding('utf8').on('data', (text) => (told += text)))
  stream.on('error', () => undefined).end()
  test.teardown(() => stream.destroy())
  await once(stream, 'response')
  const applied = await daemon.call('PUT', '/services/apply')
  test.equal(applied.status, 200, applied.text)
  test.notOk('x-dry-run' in applied.headers, 'no step was only recorded')
  const health = async () => (await daemon.call('GET', `/ipvsDirector/rips/${rip}`)).json.data.health
  await until('it is up', health, (now) => now === 'up')
  first.close()
  await until('it is told to be down', async () => told.includes('"state":"down"'), Boolean)
  test.match(told, /"name":"web 1","backendId":"[^"]+","backendName":"shop","reason":"PROCERR 7 External check error"/)
  test.match(await tried(), { exitCode: 7, up: false })
  const second = await originOn(port)
  test.teardown(() => second.close())
  await until('it is told to be up', async () => told.includes('"state":"up"'), Boolean)
  const { json } = await daemon.call('DELETE', `/healthchecks/${check}`)
  test.match(json, { code: 'IN_USE', data: { usage: [{ name: 'shop', field: 'healthCheck.id' }] } })
})
