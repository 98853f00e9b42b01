import { writeFileSync } from 'node:fs'
import { join as pathOf } from 'node:path'
import t from 'tap'
import { type ClusterDaemon, ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, ripsOf, seenBy } from '../fixtures/cluster-sight.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { until } from '../fixtures/until.ts'

/** Three real daemons with a real etcd each. */

t.test('three nodes', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [first, second, third] = [await daemons.start(), await daemons.start(), await daemons.start()]
  const all = [first, second, third]
  const issue = async () => String((await first.daemon.data('POST', '/cluster/tokens', {})).token)

  await t.test('the first forms it', async () => {
    await addRip(first, 'ours')
    await addRip(second, 'theirs')
    const route = { name: 'nowhere', type: 'blackhole', destination: '198.51.100.0/24' }
    await second.daemon.data('POST', `/${second.daemon.node}/routes`, route)
    await second.daemon.data('PUT', '/services/apply')
    await addRip(second, 'staged there')
    await form(first, 'left')
  })

  await t.test('a preview changes nothing', async (t) => {
    const token = await issue()
    const body = { token, address: second.address, nodeName: 'right', dryRun: true }
    const looked = await second.daemon.call('POST', '/cluster/join', { body })
    t.match(looked.json.message, /nothing was changed/)
    const seen = looked.json.data
    t.match(seen, { name: 'site', reachable: true, nodes: [{ id: first.daemon.node, name: 'left' }] })
    t.equal(await seenBy(second), null)
    t.same(await ripsOf(second), ['staged there', 'theirs'])
    t.same(seen.brings, [{ resource: 'ipRoutes', name: 'nowhere' }])
    t.match((await join(second, 'right', token)).status, 200, 'the token is still valid')
    await allVote(first, 2)
    for (const { daemon } of [first, second]) {
      const routes = await daemon.data('GET', `/${second.daemon.node}/routes`)
      t.match(routes, [{ name: 'nowhere', destination: '198.51.100.0/24' }], 'its own records came along')
    }
  })

  await t.test('a node whose etcd would not start contacts no other node', async (t) => {
    const etcd = pathOf(temporaryFolder(t, 'old'), 'etcd')
    writeFileSync(etcd, '#!/bin/sh\necho "etcd Version: 3.4.23"\n', { mode: 0o755 })
    const { daemon, address } = await daemons.start([], { env: { FULCRUM_ETCD: etcd } })
    const body = { token: await issue(), address, nodeName: 'old' }
    for (const dryRun of [true, false]) {
      const { status, json } = await daemon.call('POST', '/cluster/join', { body: { ...body, dryRun } })
      t.match([status, json.code, json.message], [501, 'NOT_SUPPORTED', /3\.4\.23 is too old: install the package/])
    }
    t.equal((await seenBy(first)).nodes.length, 2, 'it is not a member')
    await daemon.kill('SIGTERM')
  })

  await t.test('tokens that admit no node', async (t) => {
    const refused = async (token: string) => {
      const { status, json } = await join(third, 'third', token)
      return [status, json.code, json.errors?.[0].code]
    }
    const used = await issue()
    t.same(await refused('fj1.half'), [422, 'INVALID_BODY', 'TOKEN_SHAPE'])
    const [version = '', id = '', secret = '', pin = '', ...addresses] = used.split('.')
    const forged = [version, id, `${secret.startsWith('A') ? 'B' : 'A'}${secret.slice(1)}`, pin, ...addresses].join('.')
    t.same(await refused(forged), [422, 'INVALID_BODY', 'WRONG_PROOF'])
    t.equal(await seenBy(third), null)
    t.equal((await join(third, 'third', used)).status, 200)
  })

  await t.test('all nodes have the same configuration', async (t) => {
    for (const node of all) {
      await until(
        'voters',
        () => seenBy(node),
        ({ nodes }) => nodes.every(({ isVoter }: { isVoter: boolean }) => isVoter),
      )
      const { name, nodes, quorum } = await until(
        'sight of all',
        () => seenBy(node),
        (seen) => seen.nodes.every(({ state }: { state: string }) => state === 'online'),
      )
      t.same([name, quorum, nodes.map((one: { name: string }) => one.name)], ['site', true, ['left', 'right', 'third']])
      t.same(await ripsOf(node), ['ours'])
    }
  })

  await t.test('a change staged on one node is pending on all', async (t) => {
    await Promise.all(all.map((node, index) => addRip(node, `of ${index}`)))
    const wanted = ['of 0', 'of 1', 'of 2', 'ours']
    for (const node of all)
      t.same(
        await until(
          'edits',
          () => ripsOf(node),
          (found) => found.length === 4,
        ),
        wanted,
      )
  })

  await t.test('a caller that names the number of changes reads it on every node', async (t) => {
    for (let n = 0; n < 5; n++) {
      const changed = await first.daemon.call('POST', '/layer7proxy/backends', {
        body: { name: `read-${n}`, mode: 'http', reals: [] },
      })
      const sequence = changed.headers['x-fulcrum-sequence'] ?? ''
      t.match(sequence, /^\d+$/)
      for (const { daemon } of [second, third]) {
        const read = await daemon.call('GET', '/layer7proxy/backends', { headers: { 'x-fulcrum-sequence': sequence } })
        t.equal(read.json.data.length, n + 1)
        t.ok(Number(read.headers['x-fulcrum-sequence']) >= Number(sequence))
      }
    }
  })

  await t.test('a session is valid on every node, and ends on every node', async (t) => {
    const token = await first.daemon.login()
    const asks = async ({ daemon }: ClusterDaemon) => (await daemon.call('GET', '/localUsers/me', { token })).status
    for (const node of all)
      t.equal(
        await until(
          'session',
          () => asks(node),
          (status) => status === 200,
        ),
        200,
      )
    await third.daemon.call('DELETE', '/token', { token })
    for (const node of all)
      t.equal(
        await until(
          'its end',
          () => asks(node),
          (status) => status === 401,
        ),
        401,
      )
    await first.daemon.login()
  })

  await t.test('an apply makes it running on all', async (t) => {
    await allVote(second, 3)
    const { nodes } = await second.daemon.data('PUT', '/services/apply', { comment: 'all of it' })
    t.same(
      nodes.map(({ state }: { readonly state: string }) => state),
      ['applied', 'applied', 'applied'],
    )
    const running = async ({ daemon }: ClusterDaemon) => (await daemon.data('GET', '/revisions'))[0]
    for (const node of all) {
      const revision = await until(
        'revision',
        () => running(node),
        (found) => found?.comment === 'all of it',
      )
      t.match(revision, { by: 'admin@localhost' })
      t.equal((await node.daemon.data('GET', '/services/pending')).count, 0)
    }
  })

  await t.test('a path with the id of another node is answered by that node', async (t) => {
    for (const { daemon } of all) {
      for (const other of all) {
        const answer = await daemon.call('GET', `/${other.daemon.node}/interfaces`)
        t.equal(answer.status, 200, answer.text)
      }
    }
  })

  await t.test('a service is restarted on all nodes, one after another', async (t) => {
    const before = await Promise.all(all.map(async ({ daemon }) => (await daemon.data('GET', '/audit')).length))
    await second.daemon.data('PUT', '/services/layer7proxy/restart')
    const after = await Promise.all(all.map(async ({ daemon }) => (await daemon.data('GET', '/audit')).length))
    t.ok(
      after.every((count, index) => count > (before[index] ?? 0)),
      'each node writes its audit log',
    )
  })

  await t.test('an apply on one node alone, and then on all', async (t) => {
    await addRip(third, 'canary')
    await third.daemon.data('POST', '/layer7proxy/backends', { name: 'tried', mode: 'http', reals: [] })
    const path = `/${second.daemon.node}/services/apply`
    const revisions = (await first.daemon.data('GET', '/revisions')).length
    const refused = await first.daemon.call('PUT', path, { body: { confirmWithin: 30 } })
    t.match([refused.status, refused.json.errors?.[0].field], [422, 'confirmWithin'])
    const alone = await first.daemon.data('PUT', path, { comment: 'look first' })
    t.match(alone.nodes, [{ nodeId: second.daemon.node, state: 'applied' }])
    const aheadOf = async (node: ClusterDaemon) =>
      (await seenBy(node)).nodes.find(({ id }: { readonly id: string }) => id === second.daemon.node).ahead
    for (const node of all) {
      await until(
        'ahead',
        () => aheadOf(node),
        (found) => found === 2,
      )
      const { changes } = await node.daemon.data('GET', '/services/pending')
      const left = [first, third].map(({ daemon }) => daemon.node).toSorted()
      t.match(changes, [{ name: 'canary' }, { name: 'tried' }])
      t.same(changes[0].pendingOn.toSorted(), left)
    }
    t.equal((await first.daemon.data('GET', '/revisions')).length, revisions, 'no revision of its own')
    const namesOn = async ({ daemon }: ClusterDaemon): Promise<readonly string[]> =>
      (await daemon.data('GET', `/${daemon.node}/layer7proxy/stats/backends`)).map((one: { name: string }) => one.name)
    await until(
      'figures',
      () => namesOn(second),
      (found) => found.includes('tried'),
    )
    t.notOk((await namesOn(first)).includes('tried'))
    await third.daemon.data('POST', '/rbac/roles', { name: 'guests', users: [], groups: [], endpoints: [] })
    const shared = await first.daemon.call('PUT', path)
    t.match([shared.status, shared.json.code], [501, 'NOT_SUPPORTED'], 'rights are the same on all nodes')
    await first.daemon.data('PUT', '/services/apply')
    for (const node of all) {
      await until(
        'nobody ahead',
        () => aheadOf(node),
        (found) => found === 0,
      )
      t.equal((await node.daemon.data('GET', '/services/pending')).count, 0)
    }
  })

  await t.test('a killed node comes back and catches up', async (t) => {
    await second.daemon.kill('SIGKILL')
    await addRip(first, 'missed')
    await second.daemon.start()
    t.same(
      (
        await until(
          'entry',
          () => ripsOf(second),
          (found) => found.length === 6,
        )
      ).includes('missed'),
      true,
    )
  })
  return undefined
})
