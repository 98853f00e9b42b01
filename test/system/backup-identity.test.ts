import t from 'tap'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'

t.test(
  'a new machine becomes the lost one: backup there, full restore and apply here',
  { timeout: 1_800_000 },
  async (test) => {
    const [lost, fresh] = [await daemonFixture(test), await daemonFixture(test)]
    await lost.data('POST', '/ipvsDirector/rips', { name: 'one', ip: '127.0.0.1', port: 80 })
    await lost.data('PUT', '/services/apply')
    const backup = await lost.call('GET', '/backup')
    await fresh.data('POST', '/backup/upload', { backup: backup.text })
    const [{ file }] = (await fresh.data('GET', '/backup/list')).uploads
    const { job } = (await fresh.call('POST', '/backup/restore', { body: { file } })).json
    const ended = await until(
      'the check of the restore',
      () => fresh.data('GET', `/jobs/${job}`),
      ({ state }) => state !== 'running',
    )
    test.match(ended, { state: 'succeeded', result: { warnings: [] } })
    await fresh.data('PUT', '/services/apply')
    // The daemon rebuilds itself as the other node; meanwhile nothing answers.
    const node = await until(
      'the other identity',
      () =>
        fresh
          .login()
          .then(() => fresh.call('GET', `/${lost.node}/interfaces`))
          .then(({ status }) => status)
          .catch(() => 0),
      (status) => status === 200,
    )
    test.equal(node, 200)
    test.match(await fresh.data('GET', '/ipvsDirector/rips'), [{ name: 'one' }])
    const again = (await fresh.call('GET', '/backup')).json
    test.match(again.nodes, [{ id: lost.node }])
    for (const name of ['rbac', 'layer7proxy', 'realServers', 'system', 'fip']) {
      test.same(again.sections[name], backup.json.sections[name], name)
    }
  },
)
