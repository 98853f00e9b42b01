import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { DesiredNetwork } from '../../src/drivers/host.ts'
import { KernelNetwork } from '../../workers/host/network/kernel-network.ts'
import { readInterfaces } from '../../workers/probe/interfaces.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { cable, kernelText, namespace, namespaceObstacle } from './network-namespace.ts'

/** kill -9 at each moment of a change: the next one makes the old or the new network, and the routes of others stay. */

const obstacle = await namespaceObstacle()
const skip = obstacle ?? false
const CHILD = fileURLToPath(new URL('network-child.ts', import.meta.url))
const TIMEOUT_MS = 120_000
const PLACES = ['before', 'within', 'after'] as const
/** More than any change here needs. */
const BATCHES_MAX = 12
t.setTimeout(1_800_000)

t.test('killed at any moment: old or new, and nothing of others is lost', { skip }, async (test) => {
  const [node, router] = [await namespace(test, 'node'), await namespace(test, 'router')]
  await cable(node, 'eth0', router, 'r0', 1)
  await node.ip(
    'address add 10.0.0.9/24 dev eth0',
    'route add default via 10.0.0.1 dev eth0 proto dhcp',
    'route add 10.7.0.0/16 via 10.0.0.1 dev eth0',
  )
  const untouched = await kernelText(node)
  const [eth0] = await readInterfaces(node.run)
  const interfaceId = eth0?.id ?? ''
  const folder = temporaryFolder(test, 'crash')
  const [file, desiredFile] = [join(folder, 'network.json'), join(folder, 'desired.json')]
  const on = (ip: string, prefix: number) => ({ ip, prefix, interfaceId, pingCheck: false, gateway: undefined })
  const to = (destination: string, via: string) =>
    ({ type: 'unicast', destination, via, interfaceId, metric: undefined, table: 254 }) as const
  const rule = (from: string) => ({ priority: 10_001, from, to: undefined, table: 254, suppressPrefixLength: 0 })
  const old: DesiredNetwork = {
    addresses: [on('10.0.0.5', 24), on('10.1.0.5', 24), on('2001:db8::5', 64)],
    routes: [to('10.8.0.0/16', '10.0.0.1'), to('::/0', '2001:db8::1')],
    rules: [rule('10.0.0.5/32')],
  }
  const next: DesiredNetwork = {
    addresses: [on('10.0.0.6', 24), on('10.1.0.6', 24), on('2001:db8::5', 128)],
    routes: [to('0.0.0.0/0', '10.0.0.2'), to('10.8.0.0/16', '10.0.0.2')],
    rules: [rule('10.0.0.6/32')],
  }
  const make = async (desired: DesiredNetwork) => {
    const { exitCode, output } = await new KernelNetwork(file, node.run).make(desired, 'settle', TIMEOUT_MS)
    if (exitCode !== 0) throw new Error(output)
    return kernelText(node)
  }
  const [newText, oldText] = [await make(next), await make(old)]
  writeFileSync(desiredFile, JSON.stringify(next))
  const killed = async (moment: string) => {
    const args = ['--disable-warning=ExperimentalWarning', CHILD, node.name, file, desiredFile, moment]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'], env: {} })
    const [code, signal] = await once(child, 'exit')
    return signal === 'SIGKILL' || (code !== 0 && test.fail(`${moment}: exit code ${code}`))
  }
  let moments = 0
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    for (const place of PLACES) {
      for (const [desired, text] of [
        [old, oldText],
        [next, newText],
      ] as const) {
        await make(old)
        if (!(await killed(`${batch} ${place}`))) continue
        moments += 1
        test.same(await make(desired), text, `${place} batch ${batch}, then ${desired === old ? 'old' : 'new'}`)
      }
    }
    if (moments < (batch + 1) * PLACES.length * 2) break
  }
  test.ok(moments >= 12, `${moments} moments`)
  test.same(await make({ addresses: [], routes: [], rules: [] }), untouched)
})
