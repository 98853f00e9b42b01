import { spawnSync } from 'node:child_process'
import t from 'tap'
import { Value } from 'typebox/value'
import { builtInChecks, checkFrom, SANDBOX } from '../../../src/health-checks/built-in.ts'
import { headersOf } from '../../../src/health-checks/declarations.ts'
import { BUILT_IN_CHECKS, HealthCheck } from '../../../src/model/health-check.ts'
import { ownCheck } from '../../fixtures/health-check.ts'

const isSyntax = (shell: string, input: string) => spawnSync(shell, ['-n'], { input, encoding: 'utf8' })

for (const check of builtInChecks()) {
  t.test(`the built-in check ${check.id} is a check like any other`, async (test) => {
    test.ok(Value.Check(HealthCheck, check), 'it fits the schema')
    test.match(check.description, /^The .+\.$/)
    test.match(check.script, /^#!\/bin\/bash\n/)
    test.strictSame(headersOf(check.script), { parameters: check.parameters, problems: [] })
    test.strictSame(isSyntax('bash', check.script).stderr, '')
    for (const { name, label } of check.parameters) {
      test.type(label, 'string')
      test.match(check.script, `--${name}=*)`)
    }
  })
}

t.test('all of them exist, and the sandbox', async (test) => {
  test.strictSame(
    builtInChecks().map(({ id }) => id),
    BUILT_IN_CHECKS,
  )
  test.strictSame(isSyntax('bash', SANDBOX).stderr, '')
})

t.test('an id names a built-in check first', async (test) => {
  const own = ownCheck('mine')
  const checkOf = checkFrom((id) => (id === 'nobody' ? undefined : own))
  test.equal(checkOf('mine'), own)
  test.equal(checkOf('nobody'), undefined)
  test.equal(checkOf('tcp')?.name, 'tcp')
})
