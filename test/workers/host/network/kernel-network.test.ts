import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { KernelNetwork } from '../../../../workers/host/network/kernel-network.ts'
import { NOTHING } from '../../../../workers/host/network/memory.ts'
import { nameBasedId } from '../../../../src/base/ids.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'

/** What needs no kernel; with one: test/system/network.test.ts. */

const MAC = '02:00:00:00:00:01'
const ETH0 = nameBasedId(`interface mac ${MAC}`)
const LINK = { ifname: 'eth0', flags: ['UP'], address: MAC }
const ONE = {
  ...NOTHING,
  addresses: [{ ip: '10.0.0.5', prefix: 24, interfaceId: ETH0, pingCheck: false, gateway: undefined }],
}

/** A kernel that only ever has one interface; `atBatch` is called before it would be changed. */
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

t.test('what the kernel does not take is a failure with the command and its words, after some rounds', async (test) => {
  const { network, file } = deafKernel(test)
  const result = await network.make(ONE, 'settle', 5000)
  test.equal(result.exitCode, 1)
  test.match(
    result.output,
    /^the kernel does not take: address add 10.0.0.5\/24 brd \+ dev eth0\nRTNETLINK answers: no$/,
  )
  test.notOk(existsSync(file), 'and nothing is remembered of it')
})

t.test('without iproute2 the failure says how to install it', async (test) => {
  const file = join(temporaryFolder(test, 'kernel'), 'network.json')
  const missing = { exitCode: 127, output: 'ip is not installed: run "apt-get install iproute2" as root' }
  const network = new KernelNetwork(file, async () => missing)
  test.same(await network.make(ONE, 'add', 5000), { ...missing, undo: undefined, warnings: [] })
})

t.test('a memory that cannot be written changes nothing', async (test) => {
  const batches: string[] = []
  const { network, file } = deafKernel(test, () => batches.push('batch'))
  mkdirSync(`${file}.new/in-the-way`, { recursive: true })
  const result = await network.make(ONE, 'settle', 5000)
  test.equal(result.exitCode, 1)
  test.match(result.output, /network\.json/)
  test.same(batches, [])
})

t.test('what was settled last is wanted', async (test) => {
  const { network } = deafKernel(test)
  test.same(await network.wanted(), NOTHING)
})
