import { setTimeout as wait } from 'node:timers/promises'
import { Agent, request } from 'node:https'
import t from 'tap'
import { createClient } from '../../src/client/client.ts'
import { pinnedFetch } from '../../src/client/node.ts'
import { Connection, shownBy } from '../../src/cli/connection.ts'
import { begunAnew, beginningsOf, type ClusterDaemon, ClusterDaemons, form } from '../fixtures/cluster-daemons.ts'

/** A request waits briefly while a daemon restarts within its process, and is not cut off. */

const RIPS = '/ipvsDirector/rips'

interface Asking {
  readonly asked: number
  readonly failures: readonly string[]
  end(): Promise<void>
}

/** Asks repeatedly, each time after the last answer. */
function asking(ask: () => Promise<unknown>): Asking {
  const state = { asked: 0, failures: [] as string[], isOver: false }
  const all = (async () => {
    while (!state.isOver) {
      await ask().catch((error: unknown) => state.failures.push(error instanceof Error ? error.message : String(error)))
      state.asked += 1
      await wait(1)
    }
  })()
  return {
    get asked() {
      return state.asked
    },
    failures: state.failures,
    async end() {
      state.isOver = true
      await all
    },
  }
}

/** Counts the results of requests sent without our client, by status or error. */
function bare(port: number, token: string, agent: Agent) {
  const seen = new Map<string, number>()
  const ask = () =>
    new Promise<void>((resolve) => {
      const tell = (what: string) => {
        seen.set(what, (seen.get(what) ?? 0) + 1)
        resolve()
      }
      const cut = (error: Error) => tell(String(Reflect.get(error, 'code')))
      const headers = { authorization: `Bearer ${token}` }
      const path = `/api/v1${RIPS}`
      request({ host: '127.0.0.1', port, path, headers, agent, rejectUnauthorized: false }, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (part) => (text += String(part)))
        answer.on('error', cut).on('end', () => {
          const { code = '' } = JSON.parse(text) as { readonly code?: string }
          const after = answer.headers['retry-after']
          tell([answer.statusCode, code, after].filter((one) => one !== undefined && one !== '').join(' '))
        })
      })
        .on('error', cut)
        .end()
    })
  return { seen, ask }
}

async function clientsOf({ daemon }: ClusterDaemon, token: string) {
  const url = `https://127.0.0.1:${daemon.port}`
  const { fingerprint } = await shownBy(url)
  const client = createClient<Record<string, never>>({ url, token, fetch: pinnedFetch(fingerprint) })
  const get = client.GET as unknown as (path: string) => Promise<{ readonly response: Response }>
  const post = client.POST as unknown as (path: string, init: object) => Promise<{ readonly response: Response }>
  const connection = new Connection({ url, token, fingerprint })
  let count = 0
  const answered = async ({ response }: { readonly response: Response }) => {
    if (!response.ok) throw new Error(`${response.status} ${await response.clone().text()}`)
  }
  return {
    reads: () => get(RIPS).then(answered),
    writes: () => {
      count += 1
      return post(RIPS, { body: { name: `real ${count}`, ip: '192.0.2.1', port: count } }).then(answered)
    },
    command: () => connection.get(RIPS),
    made: () => count,
    close: () => connection.close(),
  }
}

t.test('forming a cluster and leaving it cuts off no client', async (test) => {
  const daemons = await ClusterDaemons.begin(test)
  if (typeof daemons === 'string') {
    test.pass(`# SKIP ${daemons}`)
    return
  }
  const node = await daemons.start()
  const { daemon } = node
  const token = await daemon.login()
  const clients = await clientsOf(node, token)
  const agents = [new Agent({ keepAlive: true, maxSockets: 1 }), new Agent({ keepAlive: false })]
  const strangers = agents.map((agent) => bare(daemon.port, token, agent))
  const all = [clients.reads, clients.writes, clients.command, ...strangers.map(({ ask }) => ask)].map(asking)
  test.teardown(() => Promise.all(all.map((one) => one.end())))
  await form(node, 'one')
  const before = beginningsOf(node)
  const { id } = (await daemon.data('GET', '/cluster')).nodes[0]
  const left = await daemon.call('DELETE', `/cluster/nodes/${id}?force=true`)
  test.ok(left.status < 300, left.text)
  await begunAnew(node, before)
  await wait(200)
  for (const one of all) await one.end()
  clients.close()
  for (const agent of agents) agent.destroy()
  for (const { failures, asked } of all) {
    test.same(failures, [])
    test.ok(asked > 5, `${asked} were answered`)
  }
  for (const { seen } of strangers) {
    test.comment(JSON.stringify([...seen]))
    test.same(
      [...seen.keys()].filter((one) => one !== '200' && one !== '503 NODE_UNREACHABLE 1'),
      [],
      'other clients are asked to retry',
    )
  }
  const rips = await daemon.data('GET', `${RIPS}?limit=1000`)
  test.equal(rips.length, clients.made(), 'each write was carried out once')
})
