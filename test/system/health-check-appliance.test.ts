import t from 'tap'
import { until } from '../fixtures/until.ts'
import { startAppliance } from './appliance-container.ts'
import { containerObstacle } from './container.ts'

const skip = containerObstacle() ?? false

const SCRIPT = `#!/bin/bash
# @param {"name":"word","type":"string","default":"a default"}
echo "account $(id -u), $5"
cat /var/lib/fulcrum/first-password /etc/haproxy/haproxy.cfg /proc/1/environ 2>/dev/null
[ "$(id -u)" != 0 ] || exit 9
(exec 3<>"/dev/tcp/$3/$4") 2>/dev/null || exit 7
`

t.test(
  'on an appliance checks are tested and run under accounts without rights',
  { skip, timeout: 1_800_000 },
  async (test) => {
    const { machine, api, output, journal } = await startAppliance(test)
    const check = await api.create('/healthchecks', {
      name: 'own',
      description: '',
      script: SCRIPT,
      services: ['layer-7'],
    })
    const tried = async (port: number) =>
      (
        await api.request('POST', `/healthchecks/${check}/test`, {
          ip: '127.0.0.1',
          port,
          parameters: { word: '$HOME %n' },
        })
      ).data
    test.match(await tried(22), { exitCode: 0, up: true, output: /^account (?!0)\d+, --word=\$HOME %n$/ })
    test.match(await tried(23), { exitCode: 7, up: false })
    test.match(await output('ls', '-A', '/var/lib/fulcrum/health-check-trials'), '')

    const rip = await api.create('/ipvsDirector/rips', { name: 'ssh', ip: '127.0.0.1', port: 22 })
    const healthCheck = { type: 'script', id: check, interval: 1, rise: 1, fall: 1 }
    await api.create('/layer7proxy/backends', { name: 'be', mode: 'tcp', reals: [{ ripId: rip }], healthCheck })
    const applied = await api.request('PUT', '/services/apply')
    test.equal(applied.status, 200, JSON.stringify(applied))
    const health = async () =>
      ((await api.request('GET', `/ipvsDirector/rips/${rip}`)).data as { health: string }).health
    test.equal(await until('the result', health, (now) => now === 'up'), 'up', await journal())
    await machine.run('systemctl', 'stop', 'ssh')
    test.equal(await until('the result', health, (now) => now === 'down'), 'down')
    await machine.run('systemctl', 'start', 'ssh')
    test.equal(await until('the result', health, (now) => now === 'up'), 'up')
    test.equal(await output('stat', '-c', '%a', '/etc/haproxy/fulcrum-checks'), '755')
  },
)
