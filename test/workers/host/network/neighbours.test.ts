import t from 'tap'
import { silentGateways, takenAddresses } from '../../../../workers/host/network/neighbours.ts'
import { address } from './kernel-fixture.ts'

const asked = (ip: string, gateway?: string) => ({ ...address(ip, 24), pingCheck: true, gateway })
const LOST = '1 packets transmitted, 0 received, 100% packet loss'
const ANSWERED = '1 packets transmitted, 1 received, 0% packet loss'

/** Neighbours before and after they were probed, and the hosts that answer pings. */
function network(before: readonly object[], after: readonly object[], pings: readonly string[] = []) {
  const batches: string[] = []
  const run = async (argv: readonly string[], _timeout_ms: number, options: { readonly input?: string } = {}) => {
    if (argv[0] === 'ping') return { exitCode: 0, output: pings.includes(argv.at(-1) ?? '') ? ANSWERED : LOST }
    if (options.input !== undefined) batches.push(options.input)
    const entries = batches.length === 0 ? before : after
    return { exitCode: 0, output: options.input === undefined ? JSON.stringify(entries) : '' }
  }
  return { run, batches }
}
const entry = (dst: string, state: string, lladdr?: string) => ({ dst, dev: 'eth0', lladdr, state: [state] })

t.test('an address is taken when a machine answers for it, and free when none does', async (test) => {
  const mac = '02:00:00:00:00:09'
  const { run } = network([], [entry('10.0.0.5', 'REACHABLE', mac), entry('10.0.0.6', 'FAILED')])
  test.same(await takenAddresses([asked('10.0.0.5'), asked('10.0.0.6')], run), [
    `10.0.0.5 on eth0 is taken: the machine with MAC ${mac} has it`,
  ])
})

t.test('known ones are probed again, but permanent entries are left alone', async (test) => {
  const before = [
    entry('10.0.0.5', 'STALE', '02::1'),
    entry('10.0.0.6', 'PERMANENT', '02::2'),
    entry('10.0.0.77', 'STALE', '02::3'),
  ]
  const { run, batches } = network(before, [entry('10.0.0.5', 'FAILED'), before[1] ?? {}])
  test.same(await takenAddresses([asked('10.0.0.5'), asked('10.0.0.6')], run), [])
  test.same(batches, ['neigh del 10.0.0.5 dev eth0\nneigh replace 10.0.0.5 dev eth0 use\n'])
})

t.test('an answer to a ping counts as well', async (test) => {
  const { run } = network([], [entry('10.0.0.5', 'FAILED')], ['10.0.0.5'])
  test.same(await takenAddresses([asked('10.0.0.5')], run), [
    '10.0.0.5 on eth0 is taken: another machine answers for it',
  ])
})

t.test('without addresses no program is run', async (test) => {
  const refuse = async () => {
    throw new Error('nothing is to be run')
  }
  test.same(await takenAddresses([], refuse), [])
  test.same(await silentGateways([asked('10.0.0.5')], refuse), [])
})

t.test('a gateway that does not answer is named with its address', async (test) => {
  const { run } = network([], [], ['10.0.0.1'])
  const found = await silentGateways([asked('10.0.0.5', '10.0.0.1'), asked('10.0.0.6', '10.0.0.2')], run)
  test.same(found, [`10.0.0.6 cannot reach its gateway 10.0.0.2: ${LOST}`])
})
