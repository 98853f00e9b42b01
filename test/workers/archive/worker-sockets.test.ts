import t from 'tap'
import { cliSockets } from '../../../workers/archive/worker-sockets.ts'

t.test('the socket on which a worker itself accepts commands', async (t) => {
  const answer = [
    '# socket lvl processes',
    'unix@/run/haproxy/admin.sock admin all',
    'ipv4@127.0.0.1:9999 user all',
    'ipv6@::1:9998 user all',
    'sockpair@4 admin all',
    'abns@hidden user all',
    '',
    '',
  ].join('\n')
  t.same(cliSockets(answer), [
    { path: '/run/haproxy/admin.sock' },
    { host: '127.0.0.1', port: 9999 },
    { host: '::1', port: 9998 },
  ])
  t.same(cliSockets("Unknown command: 'show cli sockets'\n\n"), [])
})
