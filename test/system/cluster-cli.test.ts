import { join } from 'node:path'
import t from 'tap'
import { shownBy } from '../../src/cli/connection.ts'
import { fulcrum, type Typed } from '../fixtures/cli.ts'
import { begunAnew, type ClusterDaemon, ClusterDaemons } from '../fixtures/cluster-daemons.ts'
import { allVote } from '../fixtures/cluster-sight.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { until } from '../fixtures/until.ts'

t.test('two nodes become a cluster and single nodes again, with the command line', async (test) => {
  const daemons = await ClusterDaemons.begin(test)
  if (typeof daemons === 'string') return test.pass(`# SKIP ${daemons}`)
  const [first, second] = [await daemons.start(), await daemons.start()]
  const HOME = temporaryFolder(test, 'home')
  const at = async ({ daemon }: ClusterDaemon) => {
    const url = `https://127.0.0.1:${daemon.port}`
    const { fingerprint } = await shownBy(url)
    // A daemon that restarts asks for a retry, which the command line does automatically.
    const login = () => daemon.login().catch(() => '')
    return async (args: string, typed: Typed = {}) => {
      const token = await until('a login', login, (got) => got !== '')
      const env = { HOME, FULCRUM_URL: url, FULCRUM_TOKEN: token, FULCRUM_FINGERPRINT: fingerprint }
      return fulcrum(args.split(' '), env, typed)
    }
  }
  const [left, right] = [await at(first), await at(second)]

  test.match(await left(`cluster form site --address ${first.address} --node-name left`), {
    exit: 0,
    out: 'The cluster is formed.\n',
  })
  const token = await left('cluster join-token --valid 5m')
  test.match(token, { exit: 0, err: /^Valid for one node until / })
  const words = `cluster join - --address ${second.address} --node-name right`
  const input = token.out
  // A join at that moment is lost, and the port of nodes opens only afterwards.
  await begunAnew(first)
  const joining = (answer: string) =>
    until(
      'the port of nodes is open',
      () => right(words, { input, answers: [answer] }),
      ({ err }) => !err.includes('NODE_UNREACHABLE'),
    )
  test.match(await joining('n'), { exit: 1, err: /site, of left\.[^]*nothing was changed/ })
  const joined = await joining('y')
  test.match(joined, { exit: 0, out: 'Joined the cluster.\n', err: /fulcrum login https:\S+\n$/ }, joined.err)
  await allVote(first, 2)
  const local = { HOME, FULCRUM_URL: `unix:${join(first.daemon.state, 'api.sock')}` }
  // Root of one node is root of the others.
  await until(
    'the other node answers',
    () => fulcrum(['api', `/${second.daemon.node}/layer7proxy/stats`], local),
    ({ exit, out }) => exit === 0 && out.includes('"status": "success"'),
  )

  // A restarting node may be unreachable for a moment.
  const status = await until(
    'both nodes',
    () => left('cluster status'),
    ({ exit, out }) => exit === 0 && !out.includes('unreachable'),
  )
  test.match(status.out, /^site: ok, changes are possible\nNODE +ADDRESS[^]*left +127[^]*right +127/)
  test.notMatch(status.out, /not ready/, 'for floating IPs, none of which moves in the trial')
  test.match(await left('cluster maintenance right on --reason disks'), { exit: 0 })
  await until(
    'maintenance',
    () => left('cluster status'),
    ({ out }) => /right .* maintenance/.test(out),
  )
  test.match(await left('cluster maintenance RIGHT off'), { exit: 0 })
  test.match(await left('cluster maintenance nobody on'), { exit: 1, err: /there is no node nobody/ })

  test.match(await right('cluster leave', { answers: ['n'] }), { exit: 1, err: /nothing was changed/ })
  test.match(await right('cluster leave --yes'), { exit: 0 })
  test.match(await right('cluster status'), { exit: 0, out: 'This node is not in a cluster.\n' })
  const alone = JSON.parse((await left('cluster status --json')).out)
  test.same(
    alone.nodes.map(({ name }: { readonly name: string }) => name),
    ['left'],
  )
  return undefined
})
