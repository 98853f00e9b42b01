import t from 'tap'
import { until } from './api-client.ts'
import { assertHeldBack } from './etcd-account.ts'
import { namespace } from './network-namespace.ts'
import { done, join, type Machine, seenBy, siteObstacle, startMachine, whole } from './site-machines.ts'

/** A machine that was an appliance becomes the witness of two others, as the package has it. */

t.setTimeout(1_800_000)

t.test('a witness by its own units', { skip: siteObstacle ?? false }, async (t) => {
  const lan = await namespace(t, 'lan')
  await lan.ip('link add switch type bridge', 'link set switch up')
  const machines = await Promise.all([1, 2, 3].map((number) => startMachine(t, lan, number)))
  const [first, second, witness] = machines as [Machine, Machine, Machine]
  await done(first, 'POST', '/cluster', { name: 'site', address: `${first.ip}:9444`, nodeName: 'lb1' })
  // Behind forming it begins anew.
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
  t.equal(await shown('fulcrum-etcd', 'ActiveState', 'MainPID'), before, 'its etcd outlives the daemon as well')
  t.match(
    await witness.output('ss', '-Hltn'),
    /^(?![^]*:944[35]\b)[^]*:9444\b/,
    'no API, and no port for clients of etcd',
  )
  await done(first, 'DELETE', `/cluster/nodes/${(await seen())?.id}`)
  await until('its end', async () => /=inactive/.test(await shown('fulcrum-etcd', 'ActiveState')))
  const isForgotten = async () => (await witness.machine.run('test', '-e', '/var/lib/fulcrum/cluster')).exitCode === 1
  await until('nothing that is left', isForgotten)
})
