import t from 'tap'
import type { RunResult } from '../../../src/drivers/host.ts'
import { SystemdService } from '../../../workers/host/systemd-service.ts'

function service(answers: Readonly<Record<string, RunResult>>, options = {}) {
  const ran: string[] = []
  const run = async (argv: readonly string[]) => {
    ran.push(argv.join(' '))
    return answers[argv[0] === 'journalctl' ? 'journalctl' : (argv[1] ?? '')] ?? { exitCode: 0, output: '' }
  }
  return { made: new SystemdService('chrony.service', run, options), ran }
}

t.test('a reload of a stopped unit starts it', async (test) => {
  const { made, ran } = service({})
  for (const verb of ['start', 'stop', 'reload', 'restart'] as const) await made.perform(verb, 1000)
  test.same(ran, [
    'systemctl start chrony.service',
    'systemctl stop chrony.service',
    'systemctl reload-or-restart chrony.service',
    'systemctl restart chrony.service',
  ])
})

t.test('a start without a wait is only requested; a restart is waited for all the same', async (test) => {
  const { made, ran } = service({}, { waitsForStart: false })
  for (const verb of ['start', 'restart', 'stop'] as const) await made.perform(verb, 1000)
  test.same(ran, [
    'systemctl start --no-block chrony.service',
    'systemctl restart chrony.service',
    'systemctl stop chrony.service',
  ])
})

t.test("a failure has the unit's output", async (test) => {
  const { made } = service({
    restart: { exitCode: 1, output: 'Job failed.' },
    journalctl: { exitCode: 0, output: 'Fatal error : Invalid directive' },
  })
  test.same(await made.perform('restart', 1000), {
    exitCode: 1,
    output: 'Job failed.\nFatal error : Invalid directive',
  })
})

t.test('the state of a unit', async (test) => {
  const state = (output: string, exitCode = 0) => service({ show: { exitCode, output } }).made.state()
  test.equal(await state('LoadState=loaded\nActiveState=active'), 'running')
  test.equal(await state('LoadState=loaded\nActiveState=inactive'), 'stopped')
  test.equal(await state('LoadState=loaded\nActiveState=failed'), 'failed')
  test.equal(await state('LoadState=not-found\nActiveState=inactive'), 'missing')
  test.equal(await state('', 1), 'missing')
})
