import t from 'tap'
import { fallbackCommand, placeText, serviceWords } from '../../../../src/drivers/keepalived/fallback.ts'
import { servedFrontends } from '../../../../src/drivers/keepalived/services.ts'
import { l4Backend, l4Frontend, realServer } from '../../../fixtures/config.ts'
import { viewOf } from '../../../fixtures/view.ts'

function served(more: Parameters<typeof l4Frontend>[2], persistTimeout = 0) {
  const six = more?.ip?.includes(':') === true
  const [one] = servedFrontends(
    viewOf({
      realServers: [realServer('r', { ip: six ? 'fd00::1' : '10.0.0.1' })],
      l4Backends: [
        l4Backend('be', ['r'], { persistTimeout, fallback: { ip: six ? 'fd00::9' : '10.0.0.9', port: 81 } }),
      ],
      l4Frontends: [l4Frontend('fe', 'be', more)],
    }),
  )
  if (one === undefined) throw new Error('nothing is served')
  return one
}

t.test("services and servers in ipvsadm's notation", (test) => {
  test.equal(placeText('10.0.0.1', 80), '10.0.0.1:80')
  test.equal(placeText('fd00::1', 0), '[fd00::1]:0')
  test.same(serviceWords(served({})), [['-t', '192.0.2.10:80']])
  test.same(serviceWords(served({ protocol: 'udp', ip: 'fd00::10' })), [['-u', '[fd00::10]:80']])
  test.match(serviceWords(served({ ports: '80,81' })), [['-f', /^\d{10}$/]])
  test.end()
})

t.test('the fallback of every forwarding method', (test) => {
  const words = (...args: Parameters<typeof served>) =>
    fallbackCommand(served(...args), 'add')
      .slice(1)
      .join(' ')
  test.equal(words({}), 'add 10.0.0.9:81 -m -t 192.0.2.10:80')
  test.equal(words({ forwarding: 'gate' }), 'add 10.0.0.9:80 -g -t 192.0.2.10:80')
  test.match(words({ forwarding: 'ipip', ports: '80,81' }), /^add 10\.0\.0\.9:0 -i -f \d+$/)
  test.match(words({ ip: 'fd00::10' }, 60), /^add \[fd00::9\]:81 -m (-f \d+ -6 ?){3}$/)
  test.end()
})
