import t from 'tap'
import { begunAnew, type ClusterDaemon, ClusterDaemons, form } from '../fixtures/cluster-daemons.ts'
import { allVote, die, ripsOf, seenBy, threeNodes } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'

/** Real daemons with a real etcd each: what belongs to all of them, and what remains when all are lost. */

const RIP = { ip: '192.0.2.1', port: 80 }
const RIPS = ['applied', 'in 0', 'in 1', 'in 2']
const routeOf = (name: string) => ({ name, type: 'blackhole', destination: '2001:db8:9::/48', metric: 0 })

t.setTimeout(1_800_000)

t.test('a transaction and a backup of three nodes, and three other machines', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const nodes = await threeNodes(daemons)
  const { first, second, third } = nodes
  const all = [first, second, third]
  await t.test('a transaction is shared by all nodes, whichever is asked', async (t) => {
    const { id } = await first.daemon.data('POST', '/transactions')
    const headers = { 'x-transaction-id': String(id) }
    for (const [at, { daemon }] of all.entries()) {
      const one = await daemon.call('POST', '/ipvsDirector/rips', { body: { ...RIP, name: `in ${at}` }, headers })
      t.equal(one.status, 201, one.text)
      t.equal((await daemon.call('GET', '/ipvsDirector/rips', { headers })).json.data.length, at + 1)
      t.same(await ripsOf(all[at] ?? first), [], 'outside it')
      t.match(await daemon.data('GET', '/transactions'), [{ id, nodeId: first.daemon.node, count: at + 1 }])
      const again = await daemon.call('POST', '/transactions')
      t.match(again.json, { code: 'TRANSACTION_OPEN', data: { id, nodeId: first.daemon.node } })
    }
    const routes = await second.daemon.call('GET', `/${third.daemon.node}/routes`, { headers })
    t.same([routes.status, routes.json.data], [200, []], 'records of another node alone')
    const settings = `/${third.daemon.node}/system`
    const zone = { body: { zone: 'Europe/Paris' }, headers }
    for (const [at, { daemon }] of all.entries()) {
      const size = { body: { size: 100_000 + at }, headers }
      const made = await edited(daemon, `${settings}/conntrack`, size)
      t.equal(made.status, 200, `settings of the third node, asked of node ${at}: ${made.text}`)
      const moved = await edited(daemon, `${settings}/datetime/timezone`, zone)
      t.equal(moved.status, 200, moved.text)
      const inside = (await daemon.call('GET', `${settings}/datetime`, { headers })).json.data
      t.match([inside.timezone, inside.dateTime], ['Europe/Paris', /\+0[12]:00$/])
      t.not((await daemon.data('GET', `${settings}/conntrack`)).size, 100_000 + at, 'outside it')
      t.equal((await daemon.call('GET', `${settings}/userinterface`, { headers })).status, 200)
      t.equal((await daemon.call('GET', `/${third.daemon.node}/interfaces`, { headers })).status, 200)
      const pinged = await daemon.call('POST', `/${third.daemon.node}/sips/none/ping`, { body: {}, headers })
      t.match([pinged.status, pinged.json.code], [404, 'NOT_FOUND'])
    }
    await first.daemon.kill('SIGKILL')
    const [left] = await second.daemon.data('GET', '/transactions')
    t.match(left, { id, nodeId: first.daemon.node })
    const refused = await second.daemon.call('POST', '/ipvsDirector/rips', { body: { ...RIP, name: 'late' }, headers })
    t.match([refused.status, refused.json.code], [503, 'NODE_UNREACHABLE'])
    await first.daemon.start()
    await allVote(second, 3)
    const committed = await second.daemon.call('PUT', `/transactions/${id}/commit`)
    t.equal(committed.status, 200, committed.text)
    for (const node of all)
      t.same(
        await until(
          'the commit',
          () => ripsOf(node),
          ({ length }) => length === 3,
        ),
        ['in 0', 'in 1', 'in 2'],
      )
    t.same(await third.daemon.data('GET', '/transactions'), [])
    t.equal((await third.daemon.data('GET', `${settings}/conntrack`)).size, 100_002)
    t.equal(
      (await second.daemon.data('GET', `/${second.daemon.node}/system/datetime`)).timezone !== 'Europe/Paris',
      true,
    )
    const next = (await second.daemon.data('POST', '/transactions')).id
    const inside = { 'x-transaction-id': String(next) }
    await until(
      'it',
      () => first.daemon.data('GET', '/transactions'),
      ({ length }) => length === 1,
    )
    const more = { body: { ...RIP, name: 'applied' }, headers: inside }
    t.equal((await first.daemon.call('POST', '/ipvsDirector/rips', more)).status, 201)
    // The restarted node may still be enforcing its configuration.
    const applied = await until(
      'its apply',
      () => third.daemon.call('PUT', '/services/apply', { body: { transactionId: next } }),
      ({ json }) => json.code !== 'APPLY_IN_PROGRESS',
    )
    t.equal(applied.status, 200, applied.text)
    t.same(await third.daemon.data('GET', '/transactions'), [])
  })

  const old = all.map(({ daemon }) => daemon.node)
  let backup = ''
  await t.test('a backup names all nodes; its sections are staged for all, the whole backup is refused', async (t) => {
    for (const { daemon } of all) await daemon.data('POST', `/${daemon.node}/routes`, routeOf(`of ${daemon.node}`))
    await first.daemon.data('PUT', '/services/apply')
    const { revision } = await first.daemon.data('GET', '/services/pending')
    await until(
      'the same there',
      () => second.daemon.data('GET', '/services/pending'),
      (there) => there.revision === revision,
    )
    backup = (await second.daemon.call('GET', '/backup')).text
    t.same(JSON.parse(backup).nodes, [
      { id: old[1], hostname: 'right' },
      { id: old[0], hostname: 'left' },
      { id: old[2], hostname: 'third' },
    ])
    await second.daemon.data('POST', '/backup/upload', { backup })
    const [{ file }] = (await second.daemon.data('GET', '/backup/list')).uploads
    const whole = await second.daemon.call('POST', '/backup/restore', { body: { file, nodeId: old[1] } })
    t.match([whole.status, whole.json.code], [409, 'IN_USE'])
    const rips = (await third.daemon.data('GET', '/ipvsDirector/rips')) as readonly { readonly id: string }[]
    await third.daemon.data('DELETE', `/ipvsDirector/rips/${rips[0]?.id}`)
    await third.daemon.data('PUT', '/services/apply')
    await until(
      'its end',
      () => ripsOf(second),
      ({ length }) => length === 3,
    )
    await second.daemon.data('POST', '/backup/restore', { file, sections: ['realServers'] })
    for (const node of all)
      await until(
        'the restore',
        () => ripsOf(node),
        ({ length }) => length === 4,
      )
  })

  await t.test('all are lost: another machine is restored from the backup, and others take their places', async (t) => {
    for (const node of all) await die(node)
    const [left, right, last] = [await daemons.start(), await daemons.start(), await daemons.start()]
    await restored(left, backup, String(old[0]))
    t.same(await ripsOf(left), RIPS)
    await form(left, 'left')
    t.equal(left.daemon.node, old[0])
    t.match((await seenBy(left)).nodes, [{ id: old[0], name: 'left', isSelf: true }])
    for (const [node, at] of [
      [right, 1],
      [last, 2],
    ] as const) {
      const token = String((await left.daemon.data('POST', '/cluster/tokens', {})).token)
      const body = { token, address: node.address, as: old[at] }
      const seen = await node.daemon.data('POST', '/cluster/join', { ...body, dryRun: true })
      t.match(seen.removed[0], { id: old[at], name: at === 1 ? 'right' : 'third', address: '' })
      await node.daemon.data('POST', '/cluster/join', body)
      await begunAnew(node)
      await node.daemon.login()
      t.equal(node.daemon.node, old[at])
    }
    await allVote(left, 3)
    await allVote(right, 3)
    for (const [at, node] of [left, right, last].entries()) {
      t.match(await node.daemon.data('GET', `/${old[at]}/routes`), [{ name: `of ${old[at]}` }], 'its own records')
      t.same(await ripsOf(node), RIPS)
    }
    await last.daemon.data('POST', '/ipvsDirector/rips', { ...RIP, name: 'new' })
    const told = await right.daemon.call('PUT', '/services/apply', { body: { comment: 'all' } })
    t.match(
      told.json.data.nodes.map(({ state }: { state: string }) => state),
      ['applied', 'applied', 'applied'],
    )
  })
  return undefined
})

/** Edits are refused while too few etcds answer, as when they are started one after another. */
const edited = (daemon: ClusterDaemon['daemon'], path: string, sent: object) =>
  until(
    'the edit',
    () => daemon.call('PUT', path, sent),
    ({ status }) => status !== 503,
  )

/** Makes the whole backup running on a single node, which is the node with this id from then on. */
async function restored({ daemon }: ClusterDaemon, backup: string, nodeId: string): Promise<void> {
  await daemon.data('POST', '/backup/upload', { backup })
  const [{ file }] = (await daemon.data('GET', '/backup/list')).uploads
  const { job } = (await daemon.call('POST', '/backup/restore', { body: { file, nodeId } })).json
  const { state, ...more } = await until(
    'the check of the restore',
    () => daemon.data('GET', `/jobs/${job}`),
    (seen) => seen.state !== 'running',
  )
  if (state !== 'succeeded') throw new Error(JSON.stringify(more))
  await daemon.data('PUT', '/services/apply')
  // It rebuilds itself under that id; meanwhile nothing answers.
  const asks = async () => {
    await daemon.login()
    return (await daemon.call('GET', `/${nodeId}/routes`)).status
  }
  await until(
    'the other identity',
    () => asks().catch(() => 0),
    (status) => status === 200,
  )
}
