import t from 'tap'
import { bytesOf, childrenOf, encodeDer, numberOf, oidOf, parseDer } from '../../../workers/compute/certificate-asn1.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

t.test('DER and BER values are parsed as written', async (test) => {
  const node = parseDer(hex('30 0c 02 01 03 06 03 55 04 03 04 02 01 02'))
  const [number, oid, text] = childrenOf(node)
  test.equal(numberOf(number), 3)
  test.equal(oidOf(oid), '2.5.4.3')
  test.same(bytesOf(text), hex('01 02'))
  test.same(encodeDer(node), hex('30 0c 02 01 03 06 03 55 04 03 04 02 01 02'))
  test.same(bytesOf(parseDer(hex('24 80 04 01 01 04 01 02 00 00'))), hex('01 02'), 'in pieces, of indefinite length')
})

t.test('damaged, truncated, deep or missing data are unreadable, with no other error', async (test) => {
  const bad = ['', '30', '30 05 02 01', '02 01 03 00', '30 80'.repeat(100), '30 02'.repeat(40)]
  for (const text of bad) test.throws(() => parseDer(hex(text)), { name: 'Unreadable' }, text)
  const [number] = childrenOf(parseDer(hex('30 03 02 01 03')))
  test.throws(() => childrenOf(number), { name: 'Unreadable' })
  test.throws(() => childrenOf(undefined), { name: 'Unreadable' })
  test.throws(() => bytesOf(undefined), { name: 'Unreadable' })
  test.throws(() => oidOf(parseDer(hex('06 00'))), { name: 'Unreadable' })
})

t.test('a number too large to count with is the largest', async (test) => {
  test.equal(numberOf(parseDer(hex('02 08 01 02 03 04 05 06 07 08'))), Number.MAX_SAFE_INTEGER)
  test.ok(numberOf(parseDer(hex('02 01 ff'))) < 0)
})
