import { once } from 'node:events'
import { request as httpsRequest } from 'node:https'
import t, { type Test } from 'tap'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort, originAt } from '../fixtures/traffic.ts'

/** Follows the stream of events of a daemon, which has begun; returns its text so far, and whether it has ended. */
async function follow(test: Test, daemon: Daemon, token: string, headers: Record<string, string> = {}) {
  const stream = { text: '', hasEnded: false, close: () => undefined as void }
  const options = { host: '127.0.0.1', port: daemon.port, path: '/api/v1/events', rejectUnauthorized: false }
  const request = httpsRequest({ ...options, headers: { authorization: `Bearer ${token}`, ...headers } }, (answer) => {
    answer.setEncoding('utf8').on('data', (text: string) => (stream.text += text))
    answer.on('close', () => (stream.hasEnded = true))
    answer.on('error', () => (stream.hasEnded = true))
  })
  stream.close = () => void request.destroy()
  test.teardown(stream.close)
  await once(request.end(), 'response')
  request.on('error', () => (stream.hasEnded = true))
  return stream
}

t.test('a failed check and its recovery are events, also for a client that was away over a kill -9', async (test) => {
  const daemon = await daemonFixture(test)
  const port = await freePort()
  const stop = await originAt(port)
  const id = async (path: string, body: object) => (await daemon.call('POST', path, { body })).json.data.id
  const rip = await id('/ipvsDirector/rips', { name: 'web 1', ip: '127.0.0.1', port })
  await id('/layer7proxy/backends', {
    name: 'shop',
    mode: 'http',
    reals: [{ ripId: rip }],
    healthCheck: { type: 'tcp', interval: 1, rise: 1, fall: 1 },
  })
  const token = await daemon.login()
  const stream = await follow(test, daemon, token)
  await daemon.call('PUT', '/services/apply')
  await until('the apply is told', async () => stream.text.includes('"state":"applied"'), Boolean)
  const health = async () => (await daemon.call('GET', `/ipvsDirector/rips/${rip}`)).json.data.health
  await until('it is up', health, (now) => now === 'up')
  await stop()
  await until('it is told to be down', async () => stream.text.includes('"state":"down"'), Boolean)
  const down = stream.text.split('\n\n').find((event) => event.includes('"state":"down"')) ?? ''
  test.match(down, /event: realServer/)
  test.match(down, new RegExp(`"id":"${rip}","name":"web 1","backendId":"[^"]+","backendName":"shop","reason":"L4CON`))
  const last = /^id: (\d+)/m.exec(down)?.[1] ?? ''

  await daemon.kill('SIGKILL')
  await until('the stream ends', async () => stream.hasEnded, Boolean)
  await daemon.start()
  const again = await follow(test, daemon, await daemon.login(), { 'last-event-id': last })
  // The new daemon does not report the health that it finds; it reports the recovery of the server.
  await until('the start is told', async () => again.text.includes('"state":"started"'), Boolean)
  await until('it is down', health, (now) => now === 'down')
  const stopAgain = await originAt(port)
  test.teardown(stopAgain)
  await until('it is told to be up', async () => again.text.includes('"state":"up"'), Boolean)
  const ids = [...again.text.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]))
  test.same(
    ids,
    ids.map((_, index) => Number(last) + 1 + index),
    'no number is missing and none occurs twice',
  )
})
