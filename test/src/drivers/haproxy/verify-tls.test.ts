import t from 'tap'
import { tlsProblems } from '../../../../src/drivers/haproxy/verify-tls.ts'
import type { L7Frontend } from '../../../../src/model/layer7.ts'
import { certificateMaker } from '../../../fixtures/certificate-maker.ts'
import { frontend } from '../../../fixtures/config.ts'
import { viewOf } from './records.ts'

const { pair, record } = certificateMaker(t)
const certificates = [
  record('ec', pair({ name: 'ec.test' })),
  record('rsa', pair({ name: 'rsa.test', key: 'rsa:2048' })),
]
const list = (id: string, ...ciphers: string[]) => ({ id, name: id, ciphers })
const cipherLists = [
  list('new', 'TLS_AES_128_GCM_SHA256'),
  list('old', 'ECDHE-RSA-AES128-GCM-SHA256', 'AES128-SHA'),
  list('ecdsa', 'ECDHE-ECDSA-AES128-GCM-SHA256'),
  list('both', 'ECDHE-ECDSA-AES128-GCM-SHA256', 'TLS_AES_128_GCM_SHA256'),
]
const problems = (more: Partial<L7Frontend>) =>
  tlsProblems(frontend('f', null, { certificates: ['rsa'], ...more }), viewOf({ certificates, cipherLists })).map(
    ({ field, message }) => `${field}: ${message}`,
  )

t.test('a list of TLS 1.3 suites only needs minTls 1.3, and one without any refuses it', async (test) => {
  test.match(problems({ cipherListId: 'new' }), [/^cipherListId: .* only suites of TLS 1\.3, but minTls is 1\.2/])
  test.same(problems({ cipherListId: 'new', minTls: '1.3' }), [])
  test.match(problems({ cipherListId: 'old', minTls: '1.3' }), [/^cipherListId: .* has no suite of TLS 1\.3/])
  test.same(problems({ cipherListId: 'old' }), [])
})

t.test('each certificate needs a suite that goes with its key', async (test) => {
  test.match(problems({ cipherListId: 'ecdsa' }), [/works with certificate rsa, .* rsa 2048/])
  test.match(problems({ cipherListId: 'old', certificates: ['ec'] }), [/works with certificate ec, .* ec prime256v1/])
  test.same(problems({ cipherListId: 'ecdsa', certificates: ['ec'] }), [])
  test.same(problems({ cipherListId: 'both', certificates: ['rsa'] }), [], 'TLS 1.3 works with every key')
  test.match(problems({ cipherListId: 'old', http3: true }), [/old has no suite of TLS 1.3, which http3 requires/])
  test.same(problems({ cipherListId: 'both', http3: true }), [])
})

t.test('a frontend with certificates has a port that presents them', async (test) => {
  const redirect = { ports: '80', httpRedirectToHttps: true }
  test.match(problems(redirect), [/^ports: Frontend f uses its certificates on no port/])
  test.same(problems({ ...redirect, ports: '80,443' }), [])
  test.same(problems({ ...redirect, ports: '79-81' }), [])
  test.same(problems({ ...redirect, httpRedirectToHttps: false }), [], 'TLS on port 80 is intended')
  test.same(problems({ ...redirect, certificates: [] }), [], 'it only redirects')
})

t.test('missing certificates and cipher lists are named; without TLS the list does not matter', async (test) => {
  test.match(problems({ certificates: ['rsa', 'gone'], cipherListId: 'none' }), [
    /^certificates\.1: /,
    /^cipherListId: /,
  ])
  test.same(problems({ certificates: [], cipherListId: 'new' }), [])
})
