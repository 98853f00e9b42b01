import t from 'tap'
import { until } from '../fixtures/until.ts'
import { assertHeldBack } from './etcd-account.ts'
import { namespace } from './network-namespace.ts'
import { done, join, type Machine, seenBy, siteObstacle, startMachine, whole } from './site-machines.ts'

/** A machine that was an appliance becomes the witness of two others, with the files of the package. */

t.setTimeout(1_800_000)

t.test('a witness with its own units', { skip: siteObstacle ?? false }, async (t) => {
  const lan = await namespace(t, 'lan')
  await lan.ip('link add switch type bridge', 'link set switch up')
  const machines = await Promise.all([1, 2, 3].map((number) => startMachine(t, lan, number)))
  const [first, second, witness] = machines as [Machine, Machine, Machine]
  await done(first, 'POST', '/cluster', { name: 'site', address: `${first.ip}:9444`, nodeName: 'lb1' })
  // After it has formed the cluster, it restarts.
  t.equal((await first.machine.run('systemctl', 'restart', 'fulcrum')).exitCode, 0)
  await join(second, 'lb2', first)
  await whole(first, 2)
  const settings = `FULCRUM_PROFILE=witness\nFULCRUM_PEER=${witness.ip}:9444\n`
  await witness.write('/etc/default/fulcrum', settings)
  t.equal((await witness.machine.run('systemctl', 'restart', 'fulcrum')).exitCode, 0)
  const shown = (unit: string, ...properties: readonly string[]) =>
    witness.output('systemctl', 'show', unit, `--property=${properties.join()}`)
  t.match(await shown('fulcrum', 'StatusText'), /waits for a token in \/var\/lib\/fulcrum\/join-token/)
  const { token } = (await done(first, 'POST', '/cluster/tokens', { role: 'witness' })) as { token: string }
  await witness.write('/var/lib/fulcrum/join-token', token)
  const seen = async () => (await seenBy(first))?.witness
  await until('its vote', async () => (await seen())?.isVoter === true)
  const isSaid = async () => /votes in the cluster site/.test(await shown('fulcrum', 'StatusText'))
  await until('its word', isSaid)
  const before = await shown('fulcrum-etcd', 'ActiveState', 'MainPID')
  t.match(before, /ActiveState=active/)
  await assertHeldBack(t, witness.machine, { isWitness: true })
  t.equal((await witness.machine.run('systemctl', 'restart', 'fulcrum')).exitCode, 0)
  t.equal(await shown('fulcrum-etcd', 'ActiveState', 'MainPID'), before, 'its etcd survives the daemon as well')
  t.match(await witness.output('ss', '-Hltn'), /^(?![^]*:944[35]\b)[^]*:9444\b/, 'no API, and no port for etcd clients')
  await t.test('while no other is back, a node and the witness start, wait and stop in time', async (t) => {
    const systemctl = async ({ machine }: Machine, ...words: readonly string[]) =>
      t.equal((await machine.run('systemctl', ...words)).exitCode, 0, words.join(' '))
    for (const machine of machines) await systemctl(machine, 'stop', 'fulcrum', 'fulcrum-etcd')
    await systemctl(witness, 'start', 'fulcrum')
    t.match(await shown('fulcrum', 'StatusText'), /can reach too few voters of the cluster site/)
    await systemctl(witness, 'stop', 'fulcrum', 'fulcrum-etcd')
    await systemctl(first, 'start', 'fulcrum')
    await until('its API', async () => (await first.api.request('GET', '/ping')).status === 200)
    const now_ms = Number(process.hrtime.bigint() / 1_000_000n)
    // The duration of the rest of a start depends on the machine.
    const begun_us = await first.output('systemctl', 'show', 'fulcrum-etcd', '-P', 'InactiveExitTimestampMonotonic')
    const waited_ms = now_ms - Number(begun_us) / 1000
    t.ok(waited_ms < 30_000, `it waited for others, and not for its etcd (${Math.round(waited_ms)} ms)`)
    t.match(await first.output('systemctl', 'show', 'fulcrum-etcd', '--property=ActiveState'), /=activating/)
    await systemctl(first, 'stop', 'fulcrum')
    t.match(await first.output('systemctl', 'show', 'fulcrum', '--property=Result'), /=success/, 'it was not killed')
    for (const machine of machines) await systemctl(machine, 'start', 'fulcrum')
    await whole(first, 2)
    await until('its vote again', isSaid)
  })
  await done(first, 'DELETE', `/cluster/nodes/${(await seen())?.id}`)
  await until('its end', async () => /=inactive/.test(await shown('fulcrum-etcd', 'ActiveState')))
  const isForgotten = async () => (await witness.machine.run('test', '-e', '/var/lib/fulcrum/cluster')).exitCode === 1
  await until('nothing that is left', isForgotten)
})
