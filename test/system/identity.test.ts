import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort } from '../fixtures/traffic.ts'

t.test('a full restore makes another machine the node of the backup, while its HAProxy continues', async (test) => {
  const old = await daemonFixture(test)
  const port = await freePort()
  await old.data('POST', '/ipvsDirector/rips', { name: 'web', ip: '127.0.0.1', port: 8001 })
  await old.data('POST', '/layer7proxy/frontends', { name: 'shop', mode: 'http', ip: '127.0.0.1', ports: String(port) })
  await old.data('PUT', `/${old.node}/system/conntrack`, { size: 77_777 })
  await old.data('PUT', '/services/apply')
  const backup = (await old.call('GET', '/backup')).text
  await old.end()

  const other = await daemonFixture(test)
  const born = other.node
  test.not(born, old.node)
  await other.data('POST', '/ipvsDirector/rips', { name: 'its own', ip: '127.0.0.2', port: 1 })
  await other.data('PUT', '/services/apply')
  await other.data('POST', '/backup/upload', { backup })
  const { uploads } = await other.data('GET', '/backup/list')
  test.match(uploads, [{ nodes: [{ id: old.node }] }])
  const restore = await other.call('POST', '/backup/restore', { body: { file: uploads[0].file, nodeId: old.node } })
  test.equal(restore.status, 202, restore.text)
  const job = await until(
    'the job ends',
    () => other.data('GET', `/jobs/${restore.json.job}`),
    ({ state }) => state !== 'running',
  )
  test.equal(job.state, 'succeeded', JSON.stringify(job))
  test.ok((await other.data('GET', '/services/pending')).count > 0, 'nothing is applied yet')
  const pid = () => readFileSync(join(other.state, 'haproxy', 'haproxy.pid'), 'utf8').trim()
  const before = pid()
  await other.data('PUT', '/services/apply')

  // It restarts within its process; its port is another one, because the test lets the kernel choose.
  await until(
    'it is the other node',
    async () => other.node,
    (node) => node === old.node,
  )
  await other.login()
  test.match(await other.data('GET', `/${old.node}/system/conntrack`), { size: 77_777 })
  test.match((await other.call('GET', `/${born}/system/conntrack`)).json, { code: 'NOT_FOUND' })
  test.same(
    (await other.data('GET', '/ipvsDirector/rips')).map(({ name }: { name: string }) => name),
    ['web'],
  )
  test.equal(pid(), before, 'HAProxy was not restarted')
  test.equal((await other.data('GET', `/${old.node}/layer7proxy/stats`)).frontends.length, 1)

  await other.kill('SIGKILL')
  await other.start()
  test.equal(other.node, old.node, 'also after the next start')
})

t.test('an unconfirmed identity is reverted, also over a kill -9', async (test) => {
  const daemon = await daemonFixture(test)
  const born = daemon.node
  const other = await daemonFixture(test)
  await other.data('POST', '/ipvsDirector/rips', { name: 'web', ip: '127.0.0.1', port: 8001 })
  await other.data('PUT', '/services/apply')
  const backup = (await other.call('GET', '/backup')).text
  await daemon.data('POST', '/backup/upload', { backup })
  const { uploads } = await daemon.data('GET', '/backup/list')
  await daemon.data('POST', '/backup/restore', { file: uploads[0].file })
  await daemon.data('PUT', '/services/apply', { confirmWithin: 6 })
  // On a busy machine that may be over before it can be observed.
  await until(
    'it is the other node',
    async () => daemon.stdout,
    (said) => said.includes(other.node),
  )
  await daemon.kill('SIGKILL')
  await daemon.start()
  await until(
    'it is itself again',
    async () => daemon.node,
    (node) => node === born,
  )
  await daemon.login()
  test.ok((await daemon.data('GET', '/services/pending')).count > 0, 'reverted changes are pending again')
  await daemon.data('DELETE', '/services/pending')
  test.same(await daemon.data('GET', '/ipvsDirector/rips'), [])
})
