import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import t from 'tap'
import { LISTENERS_ARGV, portProblem, readListeners, unitsInTheWay } from '../../../workers/host/port-probe.ts'

t.test('a port is free or there is a reason', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.equal(await portProblem('127.0.0.1', port), 'Address already in use')
  t.equal(await portProblem('0.0.0.0', port), 'Address already in use', 'a wildcard conflicts with every address')
  t.equal(await portProblem('::', port), undefined, 'of its own family')
  server.close()
  await once(server, 'close')
  t.equal(await portProblem('127.0.0.1', port), undefined)
  t.equal(await portProblem('127.0.0.1', port), undefined, 'a trial leaves nothing behind')
  t.equal(await portProblem('192.0.2.77', port), 'Cannot assign requested address')
})

t.test('listening units are read from the output of ss', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const [program, ...args] = LISTENERS_ARGV
  const told = () =>
    execFileSync(program, args, { encoding: 'utf8' })
      .split('\n')
      .filter((line) => line.includes(`:${port} `))
      .join('\n')
  t.match(told(), new RegExp(`^LISTEN .* 127.0.0.1:${port} .*cgroup:/\\S* *$`))
  t.match(readListeners(told()), [{ ip: '127.0.0.1', port }])
  t.equal(unitsInTheWay(readListeners(told()), '127.0.0.1', port).length, 1)
  server.close()
  await once(server, 'close')
  t.equal(told(), '')
})

t.test('conflicts of addresses', async (t) => {
  const line = (local: string, unit: string) => `LISTEN 0      2000   ${local}   0.0.0.0:* cgroup:${unit} \n`
  const haproxy = (local: string) => line(local, '/system.slice/haproxy.service')
  const units = (output: string, ip: string) => unitsInTheWay(readListeners(output), ip, 80)
  t.same(units('', '127.0.0.1'), [])
  t.same(units(haproxy('127.0.0.1:80').repeat(2), '127.0.0.1'), ['haproxy.service'])
  t.same(units(haproxy('127.0.0.1:80') + line('127.0.0.2:80', '/x.service'), '127.0.0.1'), ['haproxy.service'])
  t.same(units(haproxy('127.0.0.1:80') + line('127.0.0.2:80', '/'), '0.0.0.0'), ['haproxy.service', ''])
  t.same(units(line('127.0.0.1:81', '/x.service'), '127.0.0.1'), [], 'another port')
  for (const local of ['*:80', '0.0.0.0:80', '0.0.0.0%lo:80', '127.0.0.1%lo:80'])
    t.same(units(haproxy(local), '127.0.0.1'), ['haproxy.service'], local)
  for (const local of ['[2001:db8::1]:80', '[::]:80', '*:80', '[2001:db8::1%eth0]:80', '[2001:db8::1]%eth0:80'])
    t.same(units(haproxy(local), '2001:DB8:0::1'), ['haproxy.service'], local)
  t.same(units(line('1.2.3.4:80', '/user.slice/user-0.slice/session-1.scope'), '1.2.3.4'), ['session-1.scope'])
  t.same(units(line('1.2.3.4:80', '/system.slice/a.service/part'), '1.2.3.4'), ['a.service'])
})
