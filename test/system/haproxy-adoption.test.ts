import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { backend, frontend, realServer } from '../fixtures/config.ts'
import { viewOf } from '../src/drivers/haproxy/records.ts'
import { freePort } from '../fixtures/traffic.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'
import { conversation, echoOrigin, get, httpOrigin, keepAsking } from './haproxy-traffic.ts'

const PARENT = fileURLToPath(new URL('../workers/host/apply-and-wait.ts', import.meta.url))

t.test('HAProxy survives the kill -9 of its parent and is adopted as it is', async (t) => {
  const { settings, driver, apply, host, ask } = haproxyFixture(t)
  const port = await freePort()
  const tcpPort = await freePort()
  const desired = viewOf({
    realServers: [
      realServer('r1', { port: await httpOrigin(t, 'one') }),
      realServer('e1', { port: await echoOrigin(t, 'echo') }),
    ],
    l7Frontends: [
      frontend('f', 'b', { ports: String(port) }),
      frontend('g', 'c', { mode: 'tcp', ports: String(tcpPort) }),
    ],
    l7Backends: [backend('b', ['r1']), backend('c', ['e1'], { mode: 'tcp' })],
  })
  const steps = driver.plan(undefined, desired, { atLeast: 'runtime' })
  const parent = spawn(process.execPath, [PARENT, JSON.stringify({ settings, steps })], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => parent.kill('SIGKILL'))
  const [line] = await once(parent.stdout, 'data')
  t.match(JSON.parse(String(line)), { ok: true })

  const { say } = await conversation(t, tcpPort)
  t.equal(await say('before'), 'echo before')
  const pidBefore = (await ask('@1 show info')).match(/^Pid: (\d+)$/m)?.[1]
  const traffic = keepAsking(port, 4)
  await traffic.until(100)
  const ended = once(parent, 'exit')
  parent.kill('SIGKILL')
  await ended
  await traffic.until(300)

  t.equal(await host.unitState('layer7proxy'), 'running', 'a successor recognises it')
  t.match(await apply(undefined, desired), { ok: true })
  t.equal((await ask('@1 show info')).match(/^Pid: (\d+)$/m)?.[1], pidBefore, 'the very same worker')
  t.equal(await say('after'), 'echo after')
  t.strictSame((await traffic.stop()).failures, [])

  t.match(await apply(undefined, desired, 'reload'), { ok: true }, 'and it can be reloaded')
  t.match(await get(port), { status: 200, body: 'one' })
})
