import t from 'tap'
import { Value } from 'typebox/value'
import { Certificate, CipherList } from '../../../src/model/certificates.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

t.test('a parsed certificate fits its schema', async (test) => {
  const { pair, record } = certificateMaker(test)
  const made = record('a', pair({ name: 'a.test' }))
  test.ok(Value.Check(Certificate, made))
  test.notOk(Value.Check(Certificate, { ...made, facts: {} }))
})

t.test('a cipher list holds names of suites, each once', async (test) => {
  const list = (...ciphers: string[]) => Value.Check(CipherList, { id: 'a', name: 'a', ciphers })
  test.ok(list('TLS_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'))
  for (const bad of [[], ['A', 'A'], ['ALL:!aNULL'], ['@SECLEVEL=0'], ['A B'], ['a']])
    test.notOk(list(...bad), bad.join())
})
