import t from 'tap'
import { groupAttributeProblem, groupValues, mappedGroups } from '../../../src/radius/group-attribute.ts'
import { vendorAttribute } from '../../../src/radius/packet.ts'

const ANSWER = [
  { type: 25, value: Buffer.from('ops') },
  { type: 25, value: Buffer.from('admins') },
  { type: 25, value: Buffer.from('ops') },
  { type: 25, value: Buffer.from([0xff, 0x00]) },
  { type: 11, value: Buffer.from('größe') },
  { type: 6, value: Buffer.from([0, 0, 0, 6]) },
  vendorAttribute(9, 1, Buffer.from('shell:roles=ops')),
  vendorAttribute(12_356, 1, Buffer.from('forti')),
]

t.test('by name in any case, by number, and by vendor and type', async (test) => {
  test.same(
    groupValues('Class', ANSWER),
    ['ops', 'admins', '0xff00'],
    'each once; octets that are no text in hexadecimal',
  )
  test.same(groupValues('class', ANSWER), groupValues('25', ANSWER))
  test.same(groupValues('Filter-Id', ANSWER), ['größe'])
  test.same(groupValues('Service-Type', ANSWER), ['6'])
  test.same(groupValues('6', ANSWER), ['0x00000006'])
  test.same(groupValues('9:1', ANSWER), ['shell:roles=ops'])
  test.same(groupValues('Fortinet-Group-Name', ANSWER), ['forti'])
  test.same(groupValues('Connect-Info', ANSWER), [])
})

t.test('unknown attribute names are refused', async (test) => {
  for (const name of ['Class', 'CLASS', '1', '255', '9:1', '16777215:255']) {
    test.equal(groupAttributeProblem(name), undefined, name)
  }
  for (const name of ['', 'Klass', '0', '256', '9:', ':1', '0:1', '9:0', '9:256', '16777216:1', '9:1:1', ' Class']) {
    test.match(groupAttributeProblem(name), /must be one of/, name)
    test.same(groupValues(name, ANSWER), [])
  }
})

t.test('values become groups: several, each once, and exactly as they are written', async (test) => {
  const map = (value: string, groupId: string) => ({ value, groupId })
  const groupMappings = [map('ops', 'a'), map('ops', 'b'), map('admins', 'a'), map('0x6F7073', 'c'), map('OPS', 'd')]
  const mapping = { groupMappings, denyUnmapped: true }
  test.same(mappedGroups(mapping, ['ops', 'admins']), ['a', 'b', 'c'])
  test.same(mappedGroups(mapping, ['OPS']), ['d'])
  const octets = { groupMappings: [map('0xFF00', 'x')], denyUnmapped: true }
  test.same(mappedGroups(octets, ['0xff00']), ['x'])
})

t.test('without a group no login succeeds, unless that is allowed', async (test) => {
  const groupMappings = [{ value: 'ops', groupId: 'a' }]
  test.equal(mappedGroups({ groupMappings, denyUnmapped: true }, ['other']), undefined)
  test.same(mappedGroups({ groupMappings, denyUnmapped: false }, ['other']), [])
})
