import t from 'tap'
import { isHost, isHostName } from '../../../src/base/host-name.ts'

t.test('host names', async (test) => {
  for (const name of [
    'a',
    'localhost',
    'proxy.example.test',
    'xn--bcher-kva.example',
    '3com.example',
    'A-1.B',
    '1.2.3.a',
  ])
    test.ok(isHostName(name), name)
  const others = [
    '',
    '.',
    'a.',
    '.a',
    'a..b',
    '-a',
    'a-',
    'a_b',
    'a b',
    'a:1',
    'a/b',
    '*',
    '*.a',
    'bücher.example',
    '1.2.3',
    '10.0.0.999',
  ]
  for (const text of [...others, 'a\n', 'a;b', `${'a'.repeat(64)}.b`, `${'a.'.repeat(127)}a`])
    test.notOk(isHostName(text), JSON.stringify(text))
})

t.test('hosts are names and addresses without a zone', async (test) => {
  for (const host of ['ntp.example.test', '192.0.2.1', '::1', '2001:db8::7', '::ffff:192.0.2.1'])
    test.ok(isHost(host), host)
  for (const text of ['fe80::1%eth0', '[::1]', '192.0.2.1:80', '192.0.2.0/24', '1.2.3', ''])
    test.notOk(isHost(text), text)
})
