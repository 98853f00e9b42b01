import t from 'tap'
import { Value } from 'typebox/value'
import { Alpn, Compression, errorPagesOf, maintenanceOf, ProxyProtocol } from '../../../src/model/l7-settings.ts'

t.test('only kinds of HAProxy are accepted', (test) => {
  const [errorPages, maintenance] = [errorPagesOf(''), maintenanceOf('')]
  test.ok(Value.Check(errorPages, [{ status: 503, page: '' }]))
  for (const wrong of [[{ status: 502.5, page: '' }], [{ status: 402, page: '' }], [{ status: 503, page: '\u0000' }]])
    test.notOk(Value.Check(errorPages, wrong), JSON.stringify(wrong))
  test.ok(Value.Check(maintenance, { enabled: false, status: 599 }))
  test.notOk(Value.Check(maintenance, { enabled: true, status: 100 }))
  test.notOk(Value.Check(Compression, { enabled: true, types: ['text/html; x'] }))
  test.notOk(Value.Check(Compression, { enabled: true, types: [] }))
  test.ok(Value.Check(ProxyProtocol, true) && Value.Check(ProxyProtocol, ['192.0.2.1']))
  test.notOk(Value.Check(ProxyProtocol, []), 'an empty list would name no sender')
  test.notOk(Value.Check(Alpn, ['h3']))
  test.end()
})
