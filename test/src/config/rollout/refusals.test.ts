import t from 'tap'
import { ApiError } from '../../../../src/base/errors.ts'
import { failedOn, notEverywhere, refusalOf, undecided, unprepared } from '../../../../src/config/rollout/refusals.ts'

const B = { id: 'b', name: 'north' }
const C = { id: 'c', name: 'south' }

t.test('problems of nodes are reported together, each with its node', (test) => {
  const problem = { section: 'realServers', id: 'x', message: 'bad' }
  const found = (output?: string) => {
    const data = { problems: [problem], ...(output !== undefined && { output }) }
    return refusalOf(new ApiError('CONFIG_INVALID', 'bad', { errors: [], data }))
  }
  const missing = refusalOf(new ApiError('NOT_SUPPORTED', 'haproxy is not installed'))
  const error = unprepared([
    { node: B, refusal: missing },
    { node: B, refusal: found('line 3') },
    { node: C, refusal: found() },
  ])
  test.match(error, { code: 'CONFIG_INVALID', message: /north: bad/ })
  test.same(error.details.data, {
    problems: [
      { ...problem, nodeId: 'b' },
      { ...problem, nodeId: 'c' },
    ],
    output: 'line 3',
  })
  const other = unprepared([{ node: B, refusal: missing }])
  test.match(other, { code: 'NOT_SUPPORTED', message: /north: haproxy is not installed/ })
  test.same(other.details.data, { nodeId: 'b' })
  test.end()
})

t.test('a failed check without a record is a problem of its node', (test) => {
  const refusal = refusalOf(new ApiError('CONFIG_INVALID', 'no reason', { data: { problems: [], output: 'x' } }))
  test.same(unprepared([{ node: C, refusal }]).details.data, {
    problems: [{ message: 'no reason', nodeId: 'c' }],
    output: 'x',
  })
  test.end()
})

t.test('a defect only says that it is one', (test) => {
  const refusal = refusalOf(new Error('secret'))
  test.equal(refusal.code, 'INTERNAL')
  test.notMatch(JSON.stringify(refusal), /secret/)
  test.match(failedOn({ node: B, refusal }), { nodeId: 'b', ok: false, state: 'failed', why: /defect/, output: '' })
  test.end()
})

t.test('the outcome names nodes that do not answer', (test) => {
  const node = (nodeId: string, state: 'takenBack' | 'unknown') => ({ nodeId, ok: false, state, why: '', output: '' })
  const all = notEverywhere('north', 'reload it', [node('b', 'takenBack')])
  test.match(all, { code: 'APPLY_PARTIAL', message: 'The apply failed on north and was reverted: reload it' })
  test.match(notEverywhere('north', 'reload it', [node('b', 'unknown')]).message, /; b did not/)
  test.match(undecided('why', []), { code: 'NO_QUORUM', message: /it is unknown/, details: { headers: undefined } })
  test.end()
})
