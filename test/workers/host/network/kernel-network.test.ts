import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { KernelNetwork } from '../../../../workers/host/network/kernel-network.ts'
import { NOTHING } from '../../../../workers/host/network/memory.ts'
import { executePlan } from '../../../../workers/executor.ts'
import { RecordingHost } from '../../../../workers/host/recording-host.ts'
import { nameBasedId } from '../../../../src/base/ids.ts'
import type { Host } from '../../../../src/drivers/host.ts'
import { networkDriver } from '../../../../src/drivers/iproute2/driver.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { viewOf } from '../../../fixtures/view.ts'
import { ipGroup, NODE, staticIp } from '../../../src/drivers/iproute2/network-records.ts'

/** Tests without a kernel; test/system/network.test.ts has one. */

const MAC = '02:00:00:00:00:01'
const ETH0 = nameBasedId(`interface mac ${MAC}`)
const LINK = { ifname: 'eth0', flags: ['UP'], address: MAC }
const ONE = {
  ...NOTHING,
  addresses: [{ ip: '10.0.0.5', prefix: 24, interfaceId: ETH0, pingCheck: false, gateway: undefined }],
}

/** A kernel that only ever has one interface; `atBatch` is called before a change. */
function deafKernel(test: Test, atBatch: (file: string) => void = () => undefined) {
  const file = join(temporaryFolder(test, 'kernel'), 'network.json')
  const network = new KernelNetwork(file, async (argv, _timeout_ms, options = {}) => {
    if (options.input !== undefined) atBatch(file)
    const output = argv.includes('address') ? JSON.stringify([LINK]) : ''
    return { exitCode: 0, output: options.input === undefined ? output : 'RTNETLINK answers: no' }
  })
  return { file, network }
}

t.test('an address is remembered before it is added', async (test) => {
  const remembered: string[] = []
  const { network } = deafKernel(test, (file) => remembered.push(readFileSync(file, 'utf8')))
  await network.make(ONE, 'settle', 5000)
  test.match(JSON.parse(remembered[0] ?? ''), {
    addresses: [{ linkId: ETH0, ip: '10.0.0.5', prefix: 24 }],
    wanted: NOTHING,
  })
})

t.test('a refusal of the kernel is a failure with the command and its message, after some rounds', async (test) => {
  const { network, file } = deafKernel(test)
  const result = await network.make(ONE, 'settle', 5000)
  test.equal(result.exitCode, 1)
  test.match(
    result.output,
    /^the kernel does not accept: address add 10.0.0.5\/24 brd \+ dev eth0\nRTNETLINK answers: no$/,
  )
  test.notOk(existsSync(file), 'and nothing is remembered of it')
})

t.test('without iproute2 the failure says how to install it', async (test) => {
  const file = join(temporaryFolder(test, 'kernel'), 'network.json')
  const missing = { exitCode: 127, output: 'ip is not installed: run "apt-get install iproute2" as root' }
  const network = new KernelNetwork(file, async () => missing)
  test.same(await network.make(ONE, 'add', 5000), { ...missing, undo: undefined, warnings: [] })
})

t.test('if the memory cannot be written, nothing changes', async (test) => {
  const batches: string[] = []
  const { network, file } = deafKernel(test, () => batches.push('batch'))
  mkdirSync(`${file}.new/in-the-way`, { recursive: true })
  const result = await network.make(ONE, 'settle', 5000)
  test.equal(result.exitCode, 1)
  test.match(result.output, /network\.json/)
  test.same(batches, [])
})

t.test('the last settled network is wanted', async (test) => {
  const { network } = deafKernel(test)
  test.same(await network.wanted(), NOTHING)
})

/**
 * A kernel that accepts links and all addresses except `refused`; `spoiled` fails: reading it once after its first
 * change, or the memory file from then on.
 */
function takingKernel(
  test: Test,
  { addresses = [] as readonly string[], isUp = true, spoiled = '', refused = '' } = {},
) {
  const file = join(temporaryFolder(test, 'kernel'), 'network.json')
  const state = { addresses: new Set(addresses), isUp, unread: 0 }
  const change = (line: string) => {
    const [, verb, address = ''] = /^address (add|del) (\S+)/.exec(line) ?? []
    if (verb === 'add' && address !== refused) state.addresses.add(address)
    if (verb === 'del') state.addresses.delete(address)
    const [, link] = /^link set dev eth0 (up|down)$/.exec(line) ?? []
    if (link !== undefined) state.isUp = link === 'up'
  }
  const shown = () => {
    const addr_info = [...state.addresses].map((text) => {
      const [local = '', prefix] = text.split('/')
      return { family: 'inet', local, prefixlen: Number(prefix) }
    })
    return JSON.stringify([{ ...LINK, flags: state.isUp ? ['UP'] : [], addr_info }])
  }
  const network = new KernelNetwork(file, async (argv, _timeout_ms, { input } = {}) => {
    if (input?.includes('address') === true) {
      if (spoiled === 'read' && state.unread === 0) state.unread = 1
      if (spoiled === 'file') mkdirSync(`${file}.new/in-the-way`, { recursive: true })
    }
    input?.split('\n').forEach(change)
    if (!argv.includes('address')) return { exitCode: 0, output: '' }
    if (state.unread !== 1) return { exitCode: 0, output: shown() }
    state.unread = 2
    return { exitCode: 124, output: 'ip did not end within 1 ms and was killed' }
  })
  return { file, network, state }
}

for (const spoiled of ['read', 'file'] as const) {
  t.test(`changes are reverted where the ${spoiled} fails afterwards`, async (test) => {
    const { network, state, file } = takingKernel(test, { spoiled })
    const { exitCode, undo } = await network.make(ONE, 'settle', 5000)
    test.not(exitCode, 0)
    test.same([...state.addresses], ['10.0.0.5/24'], 'the kernel has it')
    test.match(await undo?.(), { exitCode: 0, output: '' })
    test.same([...state.addresses], [])
    test.notOk(existsSync(file))
  })
}

t.test('an interface that was brought up goes down again, also where nothing else had to be changed', async (test) => {
  const { network, state } = takingKernel(test, { addresses: ['10.0.0.5/24'], isUp: false })
  const { exitCode, undo } = await network.make(ONE, 'add', 5000)
  test.equal(exitCode, 0)
  test.equal(state.isUp, true)
  test.match(await undo?.(), { exitCode: 0 })
  test.equal(state.isUp, false)
  test.same([...state.addresses], ['10.0.0.5/24'], 'a foreign address stays')
})

t.test('one address that the kernel no longer accepts does not affect the others at each upkeep', async (test) => {
  const { network, state } = takingKernel(test, { refused: '10.0.0.6/24' })
  const make: Host['network'] = (...input) => network.make(...input)
  const host = Object.assign(new RecordingHost(), { network: make })
  const running = viewOf({
    ipGroups: [ipGroup('a', { assignedInterfaces: [{ nodeId: NODE, interfaceId: ETH0 }] })],
    staticIps: [staticIp('1', 'a', '10.0.0.5'), staticIp('2', 'a', '10.0.0.6'), staticIp('3', 'a', '10.0.0.7')],
  })
  const upkeep = networkDriver(NODE).plan(undefined, running, { atLeast: 'runtime' })
  const result = await executePlan(host, upkeep)
  test.match(result, { ok: false, output: /does not accept: address add 10\.0\.0\.6/ }, 'it is told')
  test.same([...state.addresses], ['10.0.0.5/24', '10.0.0.7/24'])
  test.match(await executePlan(host, upkeep), { ok: false })
  test.same([...state.addresses], ['10.0.0.5/24', '10.0.0.7/24'], 'nor at the next one')
})
