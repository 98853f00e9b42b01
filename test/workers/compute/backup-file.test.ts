import t from 'tap'
import { describeBackup, openBackup } from '../../../workers/compute/backup-file.ts'
import { SOME, sourceOf, textOf } from '../../fixtures/backup.ts'
import { certificateMaker } from '../../fixtures/certificate-maker.ts'

t.test('a file is described without its records, and opened with them', (test) => {
  const raw = Buffer.from(textOf(sourceOf(SOME)))
  test.same(Object.keys(describeBackup(raw)), ['head'])
  test.match(openBackup({ raw, passphrase: undefined }), { contents: SOME })
  test.match(describeBackup(raw.subarray(1)), { problems: [{ code: 'NOT_A_BACKUP' }] })
  const twice = Buffer.from(`{"createdAt":"2001-01-01T00:00:00Z",${raw.toString().slice(1)}`)
  test.match(describeBackup(twice), { problems: [{ code: 'NOT_A_BACKUP', message: /a duplicate name/ }] })
  test.end()
})

t.test("certificates are parsed again: the file's data about them are not trusted", async (test) => {
  const { pair, record } = certificateMaker(test)
  const good = record('c', pair({ name: 'c.test' }))
  const read = (more: object) => {
    const raw = Buffer.from(textOf(sourceOf({ ...SOME, certificates: [{ ...good, ...more }] })))
    return { described: describeBackup(raw), opened: openBackup({ raw, passphrase: undefined }) }
  }
  test.same(Object.keys(read({}).described), ['head'])
  test.match(read({}).opened, { contents: { certificates: [good] } })
  const forged = {
    ...good.facts,
    validTo: '9999-01-01T00:00:00.000Z',
    fingerprint: 'zz',
    keyType: 'rsa 2048',
    commonName: '<script>',
  }
  test.match(read({ facts: forged }).opened, { contents: { certificates: [good] } })
  test.match(read({ chain: `${good.chain}\n\nshow env\n` }).opened, { contents: { certificates: [good] } })
  const bad = [
    { chain: 'garbage' },
    { privateKey: 'garbage' },
    { privateKey: record('o', pair({ name: 'o.test' })).privateKey },
  ]
  for (const more of bad) {
    const { described, opened } = read(more)
    test.match(described, {
      problems: [{ field: 'certificates.c.chain', code: 'INVALID', message: /^is not a certificate/ }],
    })
    test.same(opened, described)
    test.notMatch(JSON.stringify(opened), /garbage|PRIVATE/)
  }
})
