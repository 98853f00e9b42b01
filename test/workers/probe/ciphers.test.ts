import t from 'tap'
import { runProgram } from '../../../workers/host/linux-host.ts'
import { readCipherSuites } from '../../../workers/probe/ciphers.ts'

const SAID = `TLS_AES_256_GCM_SHA384         TLSv1.3 Kx=any      Au=any   Enc=AESGCM(256)            Mac=AEAD
ECDHE-ECDSA-AES256-GCM-SHA384  TLSv1.2 Kx=ECDH     Au=ECDSA Enc=AESGCM(256)            Mac=AEAD
DHE-DSS-AES256-GCM-SHA384      TLSv1.2 Kx=DH       Au=DSS   Enc=AESGCM(256)            Mac=AEAD
ADH-AES256-GCM-SHA384          TLSv1.2 Kx=DH       Au=None  Enc=AESGCM(256)            Mac=AEAD
PSK-AES128-CBC-SHA             SSLv3   Kx=PSK      Au=PSK   Enc=AES(128)               Mac=SHA1
NULL-SHA                       SSLv3   Kx=RSA      Au=RSA   Enc=None                   Mac=SHA1
AES128-SHA                     SSLv3   Kx=RSA      Au=RSA   Enc=AES(128)               Mac=SHA1
`

t.test('suites without authentication or encryption are left out', async (test) => {
  test.same(await readCipherSuites(async () => ({ exitCode: 0, output: SAID })), [
    { name: 'TLS_AES_256_GCM_SHA384', isTls13: true },
    { name: 'ECDHE-ECDSA-AES256-GCM-SHA384', isTls13: false },
    { name: 'AES128-SHA', isTls13: false },
  ])
})

t.test('without the program nothing is known', async (test) => {
  test.equal(await readCipherSuites(async () => ({ exitCode: 127, output: 'openssl is not installed' })), undefined)
})

t.test('the real openssl', async (test) => {
  const suites = (await readCipherSuites(runProgram)) ?? []
  test.ok(suites.some(({ name, isTls13 }) => name === 'TLS_AES_128_GCM_SHA256' && isTls13))
  test.ok(suites.some(({ name, isTls13 }) => name === 'ECDHE-RSA-AES256-GCM-SHA384' && !isTls13))
  for (const { name, isTls13 } of suites) test.equal(name.startsWith('TLS_'), isTls13, name)
})
