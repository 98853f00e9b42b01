import t from 'tap'
import { ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { until } from '../fixtures/until.ts'
import { sourcesBefore } from '../fixtures/earlier-version.ts'

/** From before groups of OpenID Connect, which introduced another kind of session. Needs the history of the sources. */
const sources = sourcesBefore(t, 'd23c419')
const skip = sources === undefined ? 'needs the history of the sources' : false

interface Shown {
  readonly nodes: readonly { readonly id: string; readonly state: string }[]
}
const idsOf = ({ nodes }: Shown) => nodes.map(({ id }) => id)

t.test('an older node does not join a cluster with data that it does not know', { skip }, async (test) => {
  const daemons = await ClusterDaemons.begin(test)
  if (typeof daemons === 'string') {
    test.pass(`# SKIP ${daemons}`)
    return
  }
  const fresh = await daemons.start()
  const older = await daemons.start([], { sources: sources ?? '', isMeasured: true })
  await form(fresh, 'fresh')
  await fresh.daemon.login()
  const own = async () => [
    await older.daemon.data('GET', '/localUsers/users'),
    await older.daemon.data('GET', '/cluster'),
  ]
  const alone = await own()
  const before = await fresh.daemon.data('GET', '/cluster')
  const { token } = await fresh.daemon.data('POST', '/cluster/tokens', {})
  const body = { token, address: older.address, dryRun: true }
  const look = await older.daemon.call('POST', '/cluster/join', { body })
  const refused = await join(older, 'older', token)
  for (const { status, json, text } of [look, refused]) {
    test.match([status, json.code, json.errors?.[0].code], [422, 'INVALID_BODY', 'OTHER_VERSION'], text)
    test.match(json.message, /update it to the cluster's version/)
  }
  test.same(idsOf(await fresh.daemon.data('GET', '/cluster')), idsOf(before))
  test.same(await own(), alone, 'it keeps its own records, and is in no cluster')
  // The same token admits it once it is updated.
  await older.daemon.kill('SIGTERM')
  const updated = await daemons.again(older, older.address)
  const joined = await join(updated, 'older', token)
  test.equal(joined.status, 200, joined.text)
  await until(
    'both are there',
    () => fresh.daemon.data('GET', '/cluster'),
    ({ nodes }: Shown) => nodes.length === 2 && nodes.every(({ state }) => state === 'online'),
  )
})
