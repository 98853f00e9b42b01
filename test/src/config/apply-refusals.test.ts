import t from 'tap'
import { configInvalid, planRefusal } from '../../../src/config/apply-refusals.ts'
import type { Driver } from '../../../src/drivers/driver.ts'
import { viewOf } from '../../fixtures/view.ts'

const driver = (name: string): Driver => ({
  name,
  sections: [],
  prepare: () => [],
  verify: () => [],
  plan: () => [],
  effectOf: () => undefined,
  render: () => [],
  diagnose: (output) => [{ section: 'ipRoutes', id: 'r1', field: undefined, message: `${name}: ${output}` }],
})
const failure = { ok: false, failedStep: 0, why: 'do it', output: 'no', missing: false, undone: true } as const
const parts = { drivers: [driver('a')], nodeId: 'n' }

t.test('a missing program is 501, a refused check 422, a failed step 502', async (test) => {
  const refusal = (more: object) => planRefusal({ ...failure, kind: 'run', ...more }, viewOf({}), parts)
  test.equal(refusal({ missing: true, kind: 'check' }).code, 'NOT_SUPPORTED')
  const judged = refusal({ kind: 'check' })
  test.equal(judged.code, 'CONFIG_INVALID')
  test.match(judged.details.errors, [{ field: 'ipRoutes.r1', message: 'a: no' }])
  test.match(refusal({}), {
    code: 'APPLY_PARTIAL',
    details: { data: { nodes: [{ nodeId: 'n', ok: false, step: 'do it', output: 'no' }] } },
  })
  test.equal(refusal({}).details.errors, undefined, 'no record is blamed for a failed step')
  test.match(refusal({ kind: 'unit' }).details.errors, [{ field: 'ipRoutes.r1' }])
})

t.test('problems without a record still have a message', async (test) => {
  const error = configInvalid([{ section: undefined, id: undefined, field: undefined, message: 'bad' }], 'out')
  test.match(error, { code: 'CONFIG_INVALID', message: /bad/, details: { data: { output: 'out' } } })
})
