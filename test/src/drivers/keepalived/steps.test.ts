import t from 'tap'
import { configCheck, keepWeights, marksCheck, setting, valuesStep } from '../../../../src/drivers/keepalived/steps.ts'

t.test('each file is checked by its own program before it is put in place', (test) => {
  test.match(configCheck('text'), {
    path: '/etc/keepalived/keepalived.conf',
    mode: 0o600,
    argv: ['keepalived', '--config-test', '--use-file', '/etc/keepalived/keepalived.conf.candidate'],
  })
  test.match(marksCheck('text'), { argv: ['nft', '--check', '--file', '/etc/keepalived/fulcrum-marks.nft.candidate'] })
  test.end()
})

t.test('wanted settings must be possible, restored ones need not', (test) => {
  const module = { kind: 'kernelModule', name: 'ip_vs' } as const
  test.match(setting(module, 'loaded', 'why'), { isOptional: false })
  test.match(setting(module, undefined, 'why'), { isOptional: true })
  const values = new Map([['a', '1\n']])
  test.match(valuesStep({ values, ifThere: new Map() }), { folder: '/run/fulcrum-weights', values: [['a', '1\n']] })
  test.match(keepWeights(['a']), { folder: '/run/fulcrum-weights', names: ['a'] })
  test.end()
})
