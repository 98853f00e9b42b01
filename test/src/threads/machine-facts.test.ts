import t from 'tap'
import { machineFacts } from '../../../src/threads/machine-facts.ts'
import type { ProbePool } from '../../../src/threads/worker-pool.ts'

t.test('each fact is one task of the probe pool', async (test) => {
  const asked: unknown[] = []
  const pool = {
    run: async (name: string, input: unknown) => {
      asked.push([name, input])
      return undefined
    },
    close: async () => undefined,
  }
  const facts = machineFacts(pool as unknown as ProbePool, pool as unknown as ProbePool)
  await facts.interfaces()
  await facts.ping('192.0.2.1', '192.0.2.2')
  await facts.connections('192.0.2.9', 9443)
  await facts.consoleEnabled()
  await facts.conntrackSize()
  await facts.clock()
  await facts.ssh()
  await facts.cipherSuites()
  await facts.packages()
  await facts.packagesStamp()
  await facts.updateGround()
  await facts.restartRequired()
  await facts.volume()
  await facts.etcd()
  await facts.sessions('/run/haproxy/admin.sock', ['a'])
  test.same(asked, [
    ['interfaces', undefined],
    ['ping', { from: '192.0.2.1', to: '192.0.2.2' }],
    ['connections', { client: '192.0.2.9', port: 9443 }],
    ['consoleEnabled', undefined],
    ['conntrackSize', undefined],
    ['clock', undefined],
    ['ssh', undefined],
    ['cipherSuites', undefined],
    ['packages', undefined],
    ['packagesStamp', undefined],
    ['updateGround', undefined],
    ['restartRequired', undefined],
    ['volume', undefined],
    ['etcd', undefined],
    ['sessions', { statsSocket: '/run/haproxy/admin.sock', frontends: ['a'] }],
  ])
})

t.test('health checks delay only each other', async (test) => {
  const pool = { run: async (...asked: unknown[]) => asked, close: async () => undefined } as unknown as ProbePool
  const trial = { script: '#!/bin/sh', ip: '192.0.2.1', port: 80, flags: [] }
  const facts = machineFacts({ ...pool, run: () => Promise.reject(new Error('the wrong pool')) }, pool)
  test.same(await facts.tryCheck(trial), ['healthCheck', trial])
  const script = { script: '#!/bin/sh', words: [], input: '', seconds: 1 }
  test.same(await facts.runScript(script), ['script', script])
})

t.test('time zones are read once, but requested again while there are none', async (test) => {
  const answers = [undefined, ['Etc/UTC'], ['never asked']]
  let asked = 0
  const pool = { run: async () => answers[asked++], close: async () => undefined }
  const facts = machineFacts(pool as unknown as ProbePool, pool as unknown as ProbePool)
  test.equal(await facts.timeZones(), undefined, 'tzdata is not installed yet')
  test.same(await facts.timeZones(), ['Etc/UTC'])
  test.same(await facts.timeZones(), ['Etc/UTC'])
  test.equal(asked, 2)
})
