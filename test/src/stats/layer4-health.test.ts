import t from 'tap'
import { l4Frontend } from '../../fixtures/config.ts'
import { checked, type Layer4Lab, layer4Lab, real } from '../../labs/layer4-lab.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const RECORDS = {
  realServers: [real('r1'), real('r2')],
  l4Backends: [checked('b', ['r1', 'r2'])],
  l4Frontends: [l4Frontend('f', 'b')],
}
const SERVICE = '192.0.2.10:80'
const FIRST = '10.0.0.1:80'

const takeOut = (lab: Layer4Lab) => () => void lab.kernel.ipvsadm('-d', '-t', SERVICE, '-r', FIRST)
const putIn = (lab: Layer4Lab) => () => void lab.kernel.ipvsadm('-a', '-t', SERVICE, '-r', FIRST, '-m', '-w', '100')
const started = (t: Parameters<typeof layer4Lab>[0], records: Parameters<typeof layer4Lab>[2] = RECORDS) =>
  layer4Lab(t, temporaryFolder(t), records)
const states = ({ changes }: Layer4Lab) => changes.map(({ server, up }) => `${server} ${up ? 'up' : 'down'}`)

t.test('a failed check takes its real server out: down, reported with the check, and up when it is back', async (t) => {
  const lab = await started(t)
  await lab.tick()
  t.equal(lab.stats.live.health('r1'), 'up')
  await lab.tick(1, takeOut(lab))
  t.equal(lab.stats.live.health('r1'), 'down')
  t.equal(lab.stats.live.health('r2'), 'up')
  t.match(lab.live({ kind: 'backends' }).data, [{ realsTotal: 2, realsUp: 1 }])
  await lab.tick(3)
  await lab.tick(1, putIn(lab))
  t.equal(lab.stats.live.health('r1'), 'up')
  t.strictSame(lab.changes, [
    { backend: 'b', server: 'r1', up: false, reason: 'its tcp check fails' },
    { backend: 'b', server: 'r1', up: true, reason: 'its tcp check passes' },
  ])
})

t.test('a server that stays at weight 0 although it should have more is down as well', async (t) => {
  const lab = await started(t)
  await lab.tick()
  await lab.tick(1, () => void lab.kernel.ipvsadm('-e', '-t', SERVICE, '-r', FIRST, '-m', '-w', '0'))
  t.equal(lab.stats.live.health('r1'), 'down')
  t.strictSame(states(lab), ['r1 down'])
})

t.test('a script is named as users know it', async (t) => {
  const check = { id: 'c', name: 'shop answers', description: '', script: '#!', services: [], parameters: [] }
  for (const [id, name] of Object.entries({ c: 'shop answers', dns: 'dns' })) {
    const l4Backends = [checked('b', ['r1', 'r2'], { healthCheck: { type: 'script', id } })]
    const lab = await started(t, { ...RECORDS, healthChecks: [check], l4Backends })
    await lab.tick()
    await lab.tick(1, takeOut(lab))
    t.match(lab.changes, [{ reason: `its ${name} check fails` }])
  }
})

t.test('unknown without a check, while halted, and while the services are missing', async (t) => {
  const unchecked = await started(t, {
    ...RECORDS,
    l4Backends: [checked('b', ['r1'], { healthCheck: { type: 'none' } })],
  })
  await unchecked.tick()
  t.equal(unchecked.stats.live.health('r1'), 'unknown')
  const halted = await started(t, { ...RECORDS, realServers: [real('r1', { state: 'halted' }), real('r2')] })
  await halted.tick()
  t.equal(halted.stats.live.health('r1'), 'unknown')
  t.match(halted.live({ kind: 'backends' }).data, [{ realsTotal: 2, realsUp: 1, realsHalted: 1 }])
  await halted.tick(1, () => void halted.kernel.ipvsadm('-C'))
  t.equal(halted.stats.live.health('r2'), 'unknown', 'keepalived does not run')
  await halted.tick(1, () => halted.enact())
  await halted.tick()
  t.strictSame([...states(unchecked), ...states(halted)], [], 'none of it is reported')
})

t.test('unknown while keepalived does not run, whatever the table has', async (t) => {
  const lab = await started(t)
  await lab.tick()
  lab.isChecked = false
  await lab.tick(1, takeOut(lab))
  t.equal(lab.stats.live.health('r1'), 'unknown')
  t.equal(lab.stats.live.health('r2'), 'unknown', 'the table still has it')
  t.strictSame(states(lab), [])
  lab.isChecked = true
  await lab.tick()
  t.equal(lab.stats.live.health('r2'), 'up')
  t.strictSame(states(lab), ['r1 down'], 'changes in the meantime are reported afterwards')
})

t.test('a drained one is in the table with weight 0, and is up', async (t) => {
  const lab = await started(t, { ...RECORDS, realServers: [real('r1', { state: 'drained' }), real('r2')] })
  await lab.tick()
  t.equal(lab.stats.live.health('r1'), 'up')
  t.match(lab.live({ kind: 'backends' }).data, [{ realsUp: 1, realsDrained: 1 }])
  t.match(lab.live({ kind: 'rip', id: 'r1' }).data, [{ state: 'drained', weight: 0, health: 'up' }])
  await lab.tick(1, takeOut(lab))
  t.equal(lab.stats.live.health('r1'), 'down')
})

t.test('actions of an administrator are not reported', async (t) => {
  const lab = await started(t)
  await lab.tick()
  lab.isChanging = true
  await lab.tick(1, takeOut(lab))
  lab.configure({ ...RECORDS, realServers: [real('r1', { state: 'halted' }), real('r2')] })
  lab.isChanging = false
  await lab.tick(3)
  lab.configure(RECORDS)
  await lab.tick(1)
  t.equal(lab.stats.live.health('r1'), 'checking', 'online again: its first checks are in progress')
  await lab.tick(1, putIn(lab))
  t.strictSame(states(lab), [])
})

t.test('a new server is checked for a while, and then down, silently', async (t) => {
  const lab = await started(t)
  lab.kernel.ipvsadm('-d', '-t', SERVICE, '-r', FIRST)
  await lab.tick()
  await lab.restart()
  await lab.tick()
  t.equal(lab.stats.live.health('r1'), 'checking')
  await lab.tick(15)
  t.equal(lab.stats.live.health('r1'), 'down', 'the run before has reported it, if it was ever up')
  await lab.tick(1, putIn(lab))
  t.strictSame(states(lab).slice(-1), ['r1 up'], 'its recovery is reported')
})

t.test('a restart of the daemon reports nothing twice', async (t) => {
  const lab = await started(t)
  await lab.tick()
  await lab.tick(1, takeOut(lab))
  await lab.restart(500)
  await lab.tick(20)
  t.strictSame(states(lab), ['r1 down'])
  await lab.restart(500)
  await lab.tick(1, putIn(lab))
  await lab.tick(2)
  t.notOk(states(lab).includes('r2 up'), 'no recovery without a failure')
})

t.test('changes while the table could not be read are reported afterwards', async (t) => {
  const lab = await started(t)
  await lab.tick()
  lab.kernel.refuses = 1
  await lab.tick(1, takeOut(lab))
  t.equal(lab.stats.live.health('r1'), 'unknown')
  t.strictSame(states(lab), [])
  lab.kernel.refuses = undefined
  await lab.tick()
  t.strictSame(states(lab), ['r1 down'])
})

t.test('a real server of several frontends is up when it is in each of them', async (t) => {
  const lab = await started(t, {
    ...RECORDS,
    l4Frontends: [l4Frontend('f', 'b'), l4Frontend('g', 'b', { ports: '81-82' })],
  })
  await lab.tick()
  t.equal(lab.stats.live.health('r1'), 'up')
  await lab.tick(1, takeOut(lab))
  t.equal(lab.stats.live.health('r1'), 'down')
})
