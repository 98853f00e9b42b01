import { Readable } from 'node:stream'
import t from 'tap'
import { askOthers } from '../../../src/membership/asking-others.ts'
import { PeerError } from '../../../src/peers/peer-error.ts'
import { refuses } from '../../fixtures/config.ts'

const nodes = ['a', 'b', 'c'].map((id) => ({ id, name: `node ${id}` }))
const asking = { actor: { userId: 'u' }, client: { address: '192.0.2.9' } } as never

function answering(answers: Readonly<Record<string, [status: number, message: string] | Error>>) {
  const asked: string[] = []
  const forward = async ({ nodeId, path }: { readonly nodeId: string; readonly path: string }) => {
    asked.push(path)
    const answer = answers[nodeId] ?? [200, 'done']
    if (answer instanceof Error) throw answer
    const [status, message] = answer
    return { status, headers: {}, body: Readable.from([JSON.stringify({ message })]) } as never
  }
  return { asked, parts: { self: 'a', nodes, forward } }
}

t.test('each of the others is asked', async (t) => {
  const { asked, parts } = answering({})
  await askOthers(parts, asking, 'PUT', (id) => `/${id}/restart`)
  t.same(asked, ['/b/restart', '/c/restart'])
})

t.test('the first refusal ends it, and names its node', async (t) => {
  for (const [answer, why] of [
    [[409, 'busy'], 'busy'],
    [new PeerError('unreachable', 'it is away'), 'it is away'],
  ] as const) {
    const { asked, parts } = answering({ b: answer instanceof Error ? answer : [...answer] })
    const error = await refuses(
      t,
      'APPLY_PARTIAL',
      askOthers(parts, asking, 'PUT', (id) => `/${id}`),
    )
    t.same(error.details.data, {
      nodes: [
        { nodeId: 'a', ok: true },
        { nodeId: 'b', ok: false, step: 'ask the node', output: why },
      ],
    })
    t.same(asked, ['/b'])
  }
  const { parts } = answering({ b: new TypeError('a defect') })
  await t.rejects(
    askOthers(parts, asking, 'PUT', (id) => `/${id}`),
    TypeError,
  )
})
