import t, { type Test } from 'tap'
import { twoNodes } from '../../fixtures/forwarding.ts'

const ANN = { authorization: 'Bearer ann' }
const OF_T1 = { ...ANN, 'x-transaction-id': 't1' }

/** Two nodes, of which the other one has the transaction `t1`. */
async function held(test: Test) {
  const transactions = { elsewhere: { id: 't1', nodeId: 'lb2', isReachable: true } as Held | undefined }
  const { url, near, far, farPipeline, client } = await twoNodes(test, transactions)
  /** Returns whether the other node answered. */
  const asked = async (method: string, path: string, headers: Record<string, string> = ANN, body?: object) => {
    const before = far.asked.length
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body, undefined, 2) }
    const answer = await fetch(`${url}${path}`, { method, headers: { ...headers, ...json }, ...sent })
    return { isThere: far.asked.length > before, status: answer.status, json: await answer.json() }
  }
  return { transactions, asked, near, far, farPipeline, client }
}
type Held = { readonly id: string; readonly nodeId: string; readonly isReachable: boolean }

t.test('a request in a transaction is answered by its node; paths of nodes by those', async (test) => {
  const { asked, transactions } = await held(test)
  test.match(await asked('GET', '/everywhere'), { isThere: false, status: 200 })
  for (const time of ['first', 'second'])
    test.match(await asked('GET', '/everywhere', OF_T1), { isThere: true, status: 200 }, `the ${time} time`)
  test.match(await asked('GET', '/everywhere', { ...ANN, 'x-transaction-id': 't2' }), { isThere: false })
  test.match(await asked('GET', '/lb1/hello/1', OF_T1), { isThere: false, status: 200 })
  test.match(await asked('GET', '/open'), { isThere: true })
  test.match(await asked('PUT', '/open/t1/end'), { isThere: true, status: 200 })
  test.match(await asked('PUT', '/open/t2/end'), { isThere: false })
  transactions.elsewhere = undefined
  test.match(await asked('GET', '/everywhere', OF_T1), { isThere: false })
  test.match(await asked('GET', '/open'), { isThere: false })
})

t.test('settings of a node are edited where the transaction is; outside of one that node answers', async (test) => {
  const { asked, transactions } = await held(test)
  test.match(await asked('GET', '/lb1/settings', OF_T1), { isThere: true, status: 200 }, 'held by the other one')
  test.match(await asked('GET', '/lb1/settings'), { isThere: false, status: 200 })
  for (const time of ['first', 'second']) {
    transactions.elsewhere = undefined
    test.match(await asked('GET', '/lb2/settings', OF_T1), { isThere: false, status: 200 }, `held here, ${time}`)
    test.match(await asked('GET', '/lb2/settings'), { isThere: true, status: 200 }, `outside it, ${time}`)
    transactions.elsewhere = { id: 't1', nodeId: 'lb2', isReachable: true }
    test.match(await asked('GET', '/lb2/settings', OF_T1), { isThere: true, status: 200 }, `held there, ${time}`)
  }
  test.match(await asked('GET', '/lb9/settings', OF_T1), { status: 404, json: { code: 'NOT_FOUND' } })
})

t.test('a body that names it is forwarded as well, and both audit logs record it', async (test) => {
  const { asked, near, far } = await held(test)
  test.match(await asked('PUT', '/apply', ANN, {}), { isThere: false, json: { data: {} } })
  test.match(await asked('PUT', '/apply', ANN, { transactionId: 't2' }), { isThere: false })
  const there = await asked('PUT', '/apply', ANN, { transactionId: 't1' })
  test.match(there, { isThere: true, status: 200, json: { data: { transactionId: 't1' } } })
  test.match(near.audited.at(-1), { forwardedTo: 'lb2', status: 200 })
  const { requestId } = near.audited.at(-1) ?? {}
  test.ok(far.audited.some((entry) => entry.requestId === requestId && entry.forwardedBy === 'lb1'))
})

t.test('without its node the others report what they know, and edits in it are refused', async (test) => {
  const { asked, transactions } = await held(test)
  transactions.elsewhere = { id: 't1', nodeId: 'lb3', isReachable: false }
  test.match(await asked('GET', '/open'), { isThere: false, status: 200 })
  test.match(await asked('PUT', '/open/t1/end'), { isThere: false, status: 200 })
  test.match(await asked('GET', '/everywhere', OF_T1), { isThere: false, status: 404 }, 'no longer a member')
})

t.test(
  'a node that is lost now is asked in vain: the list is answered here, and nothing is done twice',
  async (test) => {
    const { asked, client } = await held(test)
    test.match(await asked('GET', '/open'), { isThere: true, status: 200 })
    client.close()
    test.match(await asked('GET', '/open'), { isThere: false, status: 200 })
    test.match(await asked('PUT', '/open/t1/end'), { status: 503, json: { code: 'NODE_UNREACHABLE' } })
    test.match(await asked('GET', '/everywhere', OF_T1), { status: 503 })
  },
)

t.test('it is forwarded between nodes once, and without other fields', async (test) => {
  const { farPipeline } = await held(test)
  const who = { userId: 'ann', email: 'ann@localhost', sessionId: 's', address: '192.0.2.1', by: 'lb1' }
  const signal = new AbortController().signal
  const ask = async (path: string, headers: Record<string, string>) => {
    const request = { method: 'GET', path: `/api/v1${path}`, query: '', headers, who, requestId: 'r', signal }
    return (await farPipeline.handleForwarded({ ...request, body: undefined } as never)).status
  }
  test.equal(await ask('/everywhere', { 'x-transaction-id': 't1' }), 200)
  test.equal(await ask('/open', {}), 200)
  test.equal(await ask('/lb2/settings', { 'x-transaction-id': 't1' }), 200)
  test.equal(await ask('/everywhere', {}), 404)
})
