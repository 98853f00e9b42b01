import t from 'tap'
import { loadedFile, readBack } from '../../../../src/drivers/keepalived/read-back.ts'
import { servedFrontends } from '../../../../src/drivers/keepalived/services.ts'
import { l4Backend, l4Frontend, realServer } from '../../../fixtures/config.ts'
import { viewOf } from '../../../fixtures/view.ts'

const all = servedFrontends(
  viewOf({
    realServers: [
      realServer('a', { ip: '10.0.0.1', port: 81, weight: 5 }),
      realServer('b', { ip: '10.0.0.2', port: 81, state: 'halted' }),
    ],
    l4Backends: [l4Backend('be', ['a', 'b'])],
    l4Frontends: [l4Frontend('fe', 'be')],
  }),
)

t.test('every service has to exist, and no server with another weight', (test) => {
  test.match(readBack(all, undefined).expect, {
    begins: ['-A -t 192.0.2.10:80 '],
    ends: [
      { beginning: '-a -t 192.0.2.10:80 -r 10.0.0.1:81 ', end: '-m -w 5' },
      { beginning: '-a -t 192.0.2.10:80 -r 10.0.0.2:81 ', end: undefined },
    ],
  })
  test.match(readBack(all, new Map([['a', '']])).expect, { ends: [{ end: '-m -w 5' }] })
  test.end()
})

t.test('lines of tunnels and of IPv6 marks are as ipvsadm prints them', (test) => {
  const [tunnel, marked] = [
    l4Frontend('fe', 'be', { forwarding: 'ipip' }),
    l4Frontend('fe', 'be', { ip: '2001:db8::10', ports: '80-81' }),
  ].map((frontend) =>
    readBack(
      servedFrontends(
        viewOf({
          realServers: [realServer('a', { ip: frontend.ip.includes(':') ? '2001:db8::1' : '10.0.0.1', weight: 5 })],
          l4Backends: [l4Backend('be', ['a'])],
          l4Frontends: [frontend],
        }),
      ),
      undefined,
    ),
  )
  test.match(tunnel, { expect: { ends: [{ end: '-i -w 5 --tun-type ipip' }] } })
  test.match(marked, { expect: { ends: [{ beginning: /^-a -f \d+ -6 -r \[2001:db8::1\]:/ }] } })
  test.end()
})

t.test('a reload is over when keepalived has created the file of its configuration', (test) => {
  test.match(loadedFile('loaded.1', all), { argv: ['find', '/run/fulcrum-weights', '-name', 'loaded.1'] })
  test.end()
})

t.test('many real servers have more time than few', (test) => {
  const [one] = all
  if (one === undefined) throw new Error('no service')
  const many = Array.from({ length: 1_000 }, () => one)
  test.equal(readBack(all, undefined).timeout_ms, 20_040)
  test.equal(readBack(many, undefined).timeout_ms, 60_000, 'two each')
  test.equal(loadedFile('loaded.1', many).timeout_ms, 60_000)
  test.equal(readBack(many, new Map([['none', '']])).timeout_ms, 20_000, 'only changed ones are waited for')
  test.end()
})
