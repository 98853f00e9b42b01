import t from 'tap'
import { Value } from 'typebox/value'
import { L4Backend, L4Frontend, SCHEDULERS } from '../../../src/model/layer4.ts'
import { l4Backend, l4Frontend } from '../../fixtures/config.ts'

t.test('masks are ones before zeros, or a length', (test) => {
  const fits = (persistMask: string) => Value.Check(L4Backend, l4Backend('be', [], { persistMask }))
  for (const mask of ['255.255.255.255', '255.255.255.0', '128.0.0.0', '1', '24', '64', '128'])
    test.ok(fits(mask), mask)
  for (const mask of ['', '0', '129', '024', '0.0.0.0', '255.0.255.0', '255.255.255', '/24', '24 '])
    test.notOk(fits(mask), mask)
  test.end()
})

t.test('the schedulers of the kernel, and the required fields of a frontend', (test) => {
  for (const scheduler of SCHEDULERS) test.ok(Value.Check(L4Backend, l4Backend('be', [], { scheduler })), scheduler)
  const whole = l4Frontend('fe', 'be')
  test.ok(Value.Check(L4Frontend, whole))
  for (const field of Object.keys(whole)) {
    const { [field as 'ip']: _, ...rest } = whole
    test.notOk(Value.Check(L4Frontend, rest), field)
  }
  test.end()
})
