import t from 'tap'
import { certificatePreviews, contentChanges, replacementSteps } from '../../../../src/drivers/haproxy/certificates.ts'
import { haproxyDriver } from '../../../../src/drivers/haproxy/driver.ts'
import { certificateProblems, cipherListProblems } from '../../../../src/drivers/haproxy/verify-certificates.ts'
import type { Certificate } from '../../../../src/model/certificates.ts'
import { certificateMaker } from '../../../fixtures/certificate-maker.ts'
import { frontend } from '../../../fixtures/config.ts'
import { PATHS, viewOf } from './records.ts'

const { pair, record } = certificateMaker(t)
const issuer = pair({ name: 'Issuer', isCa: true })
const good = record('c', pair({ name: 'c.test', issuer }), issuer)
const BAD: Readonly<Record<string, readonly [Partial<Certificate>, string]>> = {
  'no chain': [{ chain: 'garbage' }, 'chain'],
  'a chain of garbage': [{ chain: good.chain.replaceAll(/M/g, 'A') }, 'chain'],
  'a command after the chain': [{ chain: `${good.chain}\n\nshow env\n` }, 'chain'],
  'a command before the chain': [{ chain: `show env\n${good.chain}` }, 'chain'],
  'no key': [{ privateKey: 'garbage' }, 'privateKey'],
  'a command after the key': [{ privateKey: `${good.privateKey}\nshow env\n` }, 'privateKey'],
  'another key': [{ privateKey: record('o', pair({ name: 'o.test' })).privateKey }, 'privateKey'],
}

t.test('an unreadable certificate, or one of another key, is named, and no preview or plan fails', async (test) => {
  test.same(certificateProblems(good), [])
  for (const key of ['rsa:2048', 'ed25519'])
    test.same(certificateProblems(record('k', pair({ name: 'k.test', key }))), [])
  const driver = haproxyDriver(PATHS)
  const view = (certificate: Certificate) =>
    viewOf({ certificates: [certificate], l7Frontends: [frontend('f', null, { certificates: ['c'] })] })
  for (const [title, [more, field]] of Object.entries(BAD)) {
    const bad = { ...good, ...more }
    test.match(driver.verify(view(bad)), [{ section: 'certificates', id: 'c', field }], title)
    test.equal(driver.verify(view(bad)).length, 1)
    test.doesNotThrow(() => certificatePreviews(view(bad), PATHS), title)
    test.doesNotThrow(() => replacementSteps(contentChanges(view(good), view(bad)), PATHS), title)
    test.notMatch(JSON.stringify(certificatePreviews(view(bad), PATHS)), /BEGIN PRIVATE/)
  }
})

t.test('a cipher list holds suites that protect something', async (test) => {
  const problems = (...ciphers: string[]) =>
    cipherListProblems({ id: 'l', name: 'L', ciphers }).map(({ field }) => field)
  test.same(problems('TLS_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256', 'AES128-SHA', 'DES-CBC3-SHA'), [])
  const bad = [
    'NULL-SHA256',
    'ECDHE-RSA-NULL-SHA',
    'ADH-AES128-SHA',
    'AECDH-AES128-SHA',
    'EXP-RC4-MD5',
    'ALL',
    '-ALL',
    'AES128-SHA-',
  ]
  test.same(
    problems('AES128-SHA', ...bad),
    bad.map((_, index) => `ciphers.${index + 1}`),
  )
})
