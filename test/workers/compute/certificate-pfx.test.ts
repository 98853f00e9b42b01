import { createPrivateKey, X509Certificate } from 'node:crypto'
import t from 'tap'
import { openPfx } from '../../../workers/compute/certificate-pfx.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

t.test('every container that openssl writes is opened', async (test) => {
  const { pair, pfx } = certificateMaker(test)
  const one = pair({ name: 'one.test' })
  const containers = [
    [],
    ['-legacy'],
    ['-keypbe', 'PBE-SHA1-3DES', '-certpbe', 'PBE-SHA1-3DES', '-macalg', 'sha1'],
    ['-keypbe', 'PBE-SHA1-RC2-128', '-certpbe', 'PBE-SHA1-RC2-40', '-legacy'],
    ['-keypbe', 'AES-128-CBC', '-certpbe', 'AES-192-CBC', '-macalg', 'sha512'],
    ['-keypbe', 'NONE', '-certpbe', 'NONE'],
    ['-iter', '1'],
  ]
  for (const container of containers) {
    const file = Buffer.from(pfx(one, 'secret', ...container), 'base64')
    const { certificates, keys } = openPfx(file, 'secret')
    const name = container.join(' ')
    test.same(certificates, [new X509Certificate(one.cert).raw], name)
    const [key = Buffer.alloc(0)] = keys
    test.ok(createPrivateKey({ key, format: 'der', type: 'pkcs8' }).equals(createPrivateKey(one.key)), name)
    test.throws(() => openPfx(file, 'other'), { name: 'WrongPassword' }, name)
    test.throws(() => openPfx(file, ''), { name: 'WrongPassword' }, name)
    test.throws(() => openPfx(file.subarray(0, 500), 'secret'), { name: 'Unreadable' }, name)
  }
  test.throws(() => openPfx(Buffer.from(pfx(one, 'secret', '-nomac'), 'base64'), 'secret'), /without a check sum/)
})
