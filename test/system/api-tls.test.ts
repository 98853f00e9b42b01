import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { us_socket_local_port } from 'uWebSockets.js'
import { openSocket } from '../../src/http/listening.ts'
import { Acceptor, OwnSpeakers } from '../../src/http/acceptor.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { output } from './tls-frontend.ts'

const { pair } = certificateMaker(t)
const OF_TLS_1_3 = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']

t.test('on the port of the API, a scanner finds no suite without forward secrecy and no weak one', async (test) => {
  for (const [key, kind] of [
    ['rsa:2048', 'RSA'],
    ['ec:prime256v1', 'ECDSA'],
  ] as const) {
    const folder = temporaryFolder(test, kind)
    const tls = { keyFile: join(folder, 'key.pem'), certificateFile: join(folder, 'certificate.pem') }
    const { cert, key: privateKey } = pair({ name: 'api.test', key })
    writeFileSync(tls.keyFile, privateKey)
    writeFileSync(tls.certificateFile, cert)
    const front = await Acceptor.open(tls, new OwnSpeakers((app) => app.any('/*', (response) => void response.end(''))))
    test.teardown(() => front.close())
    const port = us_socket_local_port(await openSocket(front.application, { host: '127.0.0.1', port: 0 }))
    const table = await output('sslscan', '--no-colour', '--no-heartbleed', '--no-renegotiation', `127.0.0.1:${port}`)
    const found = [...table.matchAll(/^(?:Preferred|Accepted)\s+TLSv1\.\d\s+\d+ bits\s+(\S+)/gm)].map(
      ([, suite]) => suite,
    )
    const ofTls12 = ['AES128-GCM-SHA256', 'AES256-GCM-SHA384', 'CHACHA20-POLY1305'].map(
      (suite) => `ECDHE-${kind}-${suite}`,
    )
    test.same(new Set(found), new Set([...OF_TLS_1_3, ...ofTls12]), table)
    for (const old of ['SSLv3', 'TLSv1.0', 'TLSv1.1']) test.match(table, new RegExp(`${old}\\s+disabled`))
  }
})
