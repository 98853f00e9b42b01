import t from 'tap'
import { compareVersions } from '../../../../src/drivers/apt/version.ts'

t.test('versions in the order of dpkg', async (test) => {
  // Each is newer than the one before it.
  const ordered = [
    '0~rc1',
    '0',
    '0.1~1',
    '0.1',
    '0.1-1',
    '0.1-1+deb12u1',
    '0.1.2',
    '0.9',
    '0.10',
    '0.10a',
    '0.10+b',
    '1:0.1',
    '2:0',
  ]
  for (const [index, version] of ordered.entries()) {
    for (const [other, older] of ordered.entries()) {
      test.equal(Math.sign(compareVersions(version, older)), Math.sign(index - other), `${version} ${older}`)
    }
  }
  test.equal(compareVersions('6.1.0-9-amd64', '6.1.0-10-amd64'), -1)
  test.equal(compareVersions('1.0', '1.00'), 0)
})
