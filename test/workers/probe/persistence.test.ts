import t from 'tap'
import { parseMoved, parseTemplate } from '../../../workers/probe/persistence.ts'

t.test('the template of a mark, of both families', (test) => {
  test.same(parseTemplate('IP  0A010032 0000 40000001 0000 0A010016 0000 NONE            59'), {
    mark: 0x40000001,
    clientIp: '10.1.0.50',
    expires_s: 59,
  })
  const six =
    'IP  fd08:0000:0000:0000:0000:0000:0000:0011 0000 4000:0002:0000:0000:0000:0000:0000:0000 0000 fd09:0000:0000:0000:0000:0000:0000:0021 0000 NONE           299'
  test.same(parseTemplate(six), { mark: 0x40000002, clientIp: 'fd08::11', expires_s: 299 })
  test.end()
})

t.test('connections, templates of addresses and the heading are ignored', (test) => {
  for (const line of [
    'Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData',
    'TCP 0A010032 C001 0A010064 0050 0A010016 0050 ESTABLISHED     899',
    'TCP 0A010032 0000 0A010064 0050 0A010016 0050 NONE             52',
    '',
  ]) {
    test.equal(parseTemplate(line), undefined, line)
  }
  test.end()
})

t.test('clients that were moved, alone or with their network', (test) => {
  const elem = [
    [{ concat: [{ prefix: { addr: '10.1.0.0', len: 24 } }, 1073741824] }, 1073741825],
    [{ concat: ['10.2.0.7', 1073741828] }, 1073741830],
    [{ concat: ['fd08::11', 1073741832] }, 1073741833],
  ]
  test.same(parseMoved(JSON.stringify({ nftables: [{ metainfo: {} }, { map: { name: 'moved4', elem } }] })), [
    { client: '10.1.0.0/24', from: 1073741824, to: 1073741825 },
    { client: '10.2.0.7/32', from: 1073741828, to: 1073741830 },
    { client: 'fd08::11/128', from: 1073741832, to: 1073741833 },
  ])
  test.same(parseMoved('{"nftables":[{"map":{"name":"moved4"}}]}'), [])
  test.end()
})
