import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { asFiles, chosenCertificate, forgetLent } from '../../../src/listeners/lent-certificate.ts'
import { certificateRecord } from '../../fixtures/certificate.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { viewOf } from '../../fixtures/view.ts'

const settings = { id: 'n', apiPort: 9443, ipId: '', sshEnabled: true, sshPort: 22 }

t.test('the certificate of the user interface; its own without one', async (test) => {
  const certificate = await certificateRecord(test, 'one')
  const view = (SSLCertificate: string) =>
    viewOf({ userInterfaces: [{ ...settings, SSLCertificate }], certificates: [certificate] })
  test.equal(chosenCertificate(view('one'), 'n')?.id, 'one')
  test.equal(chosenCertificate(view(''), 'n'), undefined)
  test.equal(chosenCertificate(view('gone'), 'n'), undefined)
  test.equal(chosenCertificate(viewOf({}), 'n'), undefined)
})

t.test('files are lent to root alone and are deleted afterwards, also when their use fails', async (test) => {
  const folder = temporaryFolder(test, 'lent')
  const certificate = await certificateRecord(test, 'one')
  const seen = await asFiles(certificate, folder, ({ keyFile, certificateFile }) => {
    test.equal(readFileSync(keyFile, 'utf8'), certificate.privateKey)
    test.equal(readFileSync(certificateFile, 'utf8'), certificate.chain)
    test.equal(statSync(keyFile).mode & 0o777, 0o600)
    test.equal(statSync(dirname(keyFile)).mode & 0o777, 0o700)
    return keyFile
  })
  test.notOk(existsSync(dirname(seen)))
  const fails = asFiles(certificate, folder, () => Promise.reject(new Error('no such luck')))
  await test.rejects(fails, /no such luck/)
  mkdirSync(join(folder, 'lent-of-a-crash'))
  mkdirSync(join(folder, 'other'))
  await forgetLent(folder)
  test.notOk(existsSync(join(folder, 'lent-of-a-crash')))
  test.ok(existsSync(join(folder, 'other')))
  await forgetLent(join(folder, 'none'))
})
