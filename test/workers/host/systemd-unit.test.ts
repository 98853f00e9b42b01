import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import type { RunResult } from '../../../src/drivers/host.ts'
import { SystemdUnit } from '../../../workers/host/systemd-unit.ts'
import { until } from '../../fixtures/until.ts'

/** A machine whose systemctl answers `show` with `state` and fails all other commands with `fails`. */
function unitOn(state: string, fails = false) {
  const calls: string[] = []
  const run = async (argv: readonly string[]): Promise<RunResult> => {
    calls.push(argv.filter((word) => !word.startsWith('@')).join(' '))
    if (argv[1] === 'show') return { exitCode: 0, output: state }
    if (argv[0] === 'journalctl') return { exitCode: 0, output: 'from the journal' }
    return fails ? { exitCode: 1, output: 'Job failed' } : { exitCode: 0, output: '' }
  }
  return { unit: new SystemdUnit('haproxy.service', '/nonexistent/master.sock', run), calls }
}
const RUNNING = 'LoadState=loaded\nActiveState=active'

t.test('states', async (t) => {
  t.equal(await unitOn(RUNNING).unit.state(), 'running')
  t.equal(await unitOn('LoadState=loaded\nActiveState=reloading').unit.state(), 'running')
  t.equal(await unitOn('LoadState=loaded\nActiveState=inactive').unit.state(), 'stopped')
  t.equal(await unitOn('LoadState=loaded\nActiveState=failed').unit.state(), 'failed')
  t.equal(await unitOn('LoadState=not-found\nActiveState=inactive').unit.state(), 'missing')
  const without = new SystemdUnit('x', '/s', async () => ({ exitCode: 127, output: '' }))
  t.equal(await without.state(), 'missing')
})

const LOOK = 'systemctl show --property=LoadState --property=ActiveState haproxy.service'
const WHOM = 'systemctl show --property=MainPID haproxy.service'

t.test('verbs', async (t) => {
  for (const verb of ['start', 'stop', 'restart'] as const) {
    const { unit, calls } = unitOn(RUNNING)
    t.match(await unit.perform(verb, 1000), { exitCode: 0 })
    t.strictSame(calls, [...(verb === 'start' ? [] : [LOOK, WHOM]), `systemctl ${verb} haproxy.service`])
  }
})

t.test('a unit that should open the socket and does not answer there is silent, and killed', async (t) => {
  const master = spawn('sh', ['-c', 'sleep 600; :', 'haproxy', '/nonexistent/master.sock,mode,600'], {
    stdio: 'ignore',
  })
  t.teardown(() => master.kill('SIGKILL'))
  await once(master, 'spawn')
  const running = `${RUNNING}\nMainPID=${master.pid}`
  await until('silence', async () => (await unitOn(running).unit.state()) === 'silent')
  for (const verb of ['stop', 'restart'] as const) {
    const { unit, calls } = unitOn(running)
    const output = 'HAProxy did not answer and was killed'
    t.strictSame(await unit.perform(verb, 1000), { exitCode: 0, output })
    const killed = 'systemctl kill --signal=SIGKILL haproxy.service'
    t.strictSame(calls, [LOOK, WHOM, killed, `systemctl ${verb} haproxy.service`])
  }
  const { unit, calls } = unitOn(running)
  t.match(await unit.perform('reload', 100), { exitCode: 0, output: /was killed/ })
  t.match(calls, [LOOK, 'systemctl reload haproxy.service', WHOM, /kill/, 'systemctl restart haproxy.service'])
})

t.test('a reload of a stopped unit starts it, that of a running one asks its master', async (t) => {
  const stopped = unitOn('LoadState=loaded\nActiveState=inactive')
  t.match(await stopped.unit.perform('reload', 1000), { exitCode: 0 })
  t.equal(stopped.calls.at(-1), 'systemctl start haproxy.service')
  t.match(await unitOn(RUNNING).unit.perform('reload', 1000), { exitCode: 1, output: /no HAProxy master answers/ })
})

t.test('a failure has the journal', async (t) => {
  const { unit, calls } = unitOn(RUNNING, true)
  t.strictSame(await unit.perform('restart', 1000), { exitCode: 1, output: 'Job failed\nfrom the journal' })
  t.match(calls.at(-1), /^journalctl --unit haproxy\.service --since --output=cat/)
})
