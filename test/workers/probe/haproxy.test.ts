import t from 'tap'
import { readHaproxy } from '../../../workers/probe/haproxy.ts'
import { runProgram } from '../../../workers/host/linux-host.ts'

const said = (output: string, exitCode = 0) => readHaproxy('haproxy', async () => ({ exitCode, output }))

t.test('the version, and whether it supports QUIC', async (test) => {
  const features = 'Feature list : -51DEGREES +ACCEPT4 +QUIC +QUIC_OPENSSL_COMPAT +RT'
  test.same(await said(`HAProxy version 3.0.11-1+deb13u5 2025/10/03 - https://haproxy.org/\n${features}\n`), {
    version: '3.0.11',
    hasQuic: true,
  })
  test.same(await said(`HAProxy version 2.6.12\n${features.replace('+QUIC ', '-QUIC ')}\n`), {
    version: '2.6.12',
    hasQuic: false,
  })
  test.equal(await said('not found', 127), undefined)
  test.equal(await said('something else'), undefined)
})

t.test('that of this machine reports it', async (test) => {
  test.match(await readHaproxy('haproxy', runProgram), { version: /^\d+\.\d+/ })
  test.equal(await readHaproxy('no-haproxy', runProgram), undefined)
})
