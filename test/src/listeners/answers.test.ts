import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { assertAnswers } from '../../../src/listeners/answers.ts'
import { ensureCertificate } from '../../../src/listeners/own-certificate.ts'
import { certificateRecord } from '../../fixtures/certificate.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

async function serve(test: Test, answer: RequestListener) {
  const folder = temporaryFolder(test, 'answers')
  const { keyFile, certificateFile } = await ensureCertificate(join(folder, 'tls'), ['127.0.0.1'])
  const server = createServer({ key: readFileSync(keyFile), cert: readFileSync(certificateFile) }, answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  test.teardown(() => void server.close())
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

t.test('an answer to a ping counts as present, and otherwise the reason is given', async (test) => {
  const place = await serve(test, (request, response) => {
    response.writeHead(request.url === '/api/v1/ping' ? 200 : 404).end()
  })
  await assertAnswers(place, undefined)
  const other = await certificateRecord(test, 'other')
  await test.rejects(assertAnswers(place, other), /does not present the certificate Certificate other/)
  const broken = await serve(test, (_, response) => void response.writeHead(500).end())
  await test.rejects(assertAnswers(broken, undefined), /answers 500/)
  await test.rejects(assertAnswers({ host: '127.0.0.1', port: 1 }, undefined), /ECONNREFUSED/)
})
