import { execFile } from 'node:child_process'
import { existsSync, readFileSync, readlinkSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { conntrackDriver } from '../../src/drivers/conntrack/driver.ts'
import type { PlanResult, Step } from '../../src/drivers/driver.ts'
import type { ConntrackTimeouts } from '../../src/model/node.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { type Records, viewOf } from '../fixtures/view.ts'
import { namespace, namespaceObstacle } from './network-namespace.ts'

/**
 * The timeouts of a kernel, in its own network namespace. The size of the table belongs to the whole machine and can
 * only be read there.
 */

const CHILD = fileURLToPath(new URL('conntrack-child.ts', import.meta.url))
const KEYS = ['tcp_timeout_established', 'tcp_timeout_fin_wait', 'udp_timeout', 'udp_timeout_stream'].map(
  (name) => `net.netfilter.nf_conntrack_${name}`,
)
const noTracking = existsSync('/proc/sys/net/netfilter') ? undefined : 'this kernel tracks no connections'
const skip = (await namespaceObstacle()) ?? noTracking ?? false

const driver = conntrackDriver('node')
const timeouts = (tcpTimeout: string, tcpFinTimeout: string, udpTimeout: string): Records => {
  const record: ConntrackTimeouts = { id: 'cluster', tcpTimeout, tcpFinTimeout, udpTimeout }
  return { conntrackTimeouts: [record] }
}
/** Files and modules belong to the machine. */
const inNamespace = (step: Step) => step.kind === 'setting' && step.setting.kind !== 'kernelModule'

async function fixture(test: Test) {
  const network = await namespace(test, 'ct')
  const folder = temporaryFolder(test, 'found')
  const outside = readlinkSync('/proc/self/ns/net')
  const apply = async (running: Records | undefined, desired: Records): Promise<PlanResult> => {
    const steps = driver.plan(running && viewOf(running), viewOf(desired), { atLeast: 'runtime' }).filter(inNamespace)
    const child = [process.execPath, CHILD, JSON.stringify(steps), folder, outside]
    const { stdout } = await promisify(execFile)('nsenter', [`--net=/run/netns/${network.name}`, ...child])
    return JSON.parse(stdout)
  }
  const values = async () => (await network.output('sysctl', '-n', ...KEYS)).split('\n')
  return { apply, values, network }
}

/** Values of the machine itself, which stay. */
const outsideValues = () => KEYS.map((key) => readFileSync(`/proc/sys/${key.replaceAll('.', '/')}`, 'utf8').trim())

t.test('timeouts in any unit reach the kernel in seconds, and the old values come back', { skip }, async (test) => {
  const untouched = outsideValues()
  const { apply, values } = await fixture(test)
  const found = await values()
  const first = timeouts('15m', '2m', '300')
  test.match(await apply(undefined, first), { ok: true })
  test.same(await values(), ['900', '120', '300', '300'])
  const second = timeouts('31d', '1s', '2h')
  test.match(await apply(first, second), { ok: true })
  test.same(await values(), ['2678400', '1', '7200', '7200'])
  test.match(await apply(undefined, second), { ok: true }, 'a second apply changes nothing')
  test.match(await apply(second, {}), { ok: true })
  test.same(await values(), found, 'as they were before the first change')
  test.same(outsideValues(), untouched, 'nothing leaves the namespace')
})

t.test('a value that the kernel refuses is a failure that names it, and is undone', { skip }, async (test) => {
  const { apply, values, network } = await fixture(test)
  const found = await values()
  const size = Number(await network.output('sysctl', '-n', 'net.netfilter.nf_conntrack_max'))
  const desired: Records = { ...timeouts('1h', '1h', '1h'), conntrackLimits: [{ id: 'node', size: size + 1 }] }
  const result = await apply(undefined, desired)
  test.match(result, { ok: false, kind: 'setting', why: /nf_conntrack_max/, undone: true, missing: false })
  test.same(await values(), found)
  const same: Records = { ...timeouts('1h', '1h', '1h'), conntrackLimits: [{ id: 'node', size }] }
  test.match(await apply(undefined, same), { ok: true }, 'a value that is already set needs no write')
})
