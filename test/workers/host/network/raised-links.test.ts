import t from 'tap'
import type { DesiredNetwork } from '../../../../src/drivers/host.ts'
import type { KernelState } from '../../../../workers/host/network/kernel-state.ts'
import { raiseLinks, setLinks } from '../../../../workers/host/network/raised-links.ts'

function machine() {
  const inputs: (string | undefined)[] = []
  const run = async (_argv: readonly string[], _timeout_ms: number, options?: { readonly input?: string }) => {
    inputs.push(options?.input)
    return { exitCode: 0, output: '' }
  }
  return { inputs, run }
}

const address = { ip: '10.0.0.1', prefix: 24, pingCheck: false, gateway: undefined }
const desired: DesiredNetwork = {
  addresses: ['a', 'b', 'gone'].map((interfaceId) => ({ ...address, interfaceId })),
  routes: [],
  rules: [],
}
const links = [
  { id: 'a', name: 'eth0', isUp: true },
  { id: 'b', name: 'eth1', isUp: false },
  { id: 'c', name: 'eth2', isUp: false },
]
// Only the links are read.
const kernel = { links } as unknown as KernelState

t.test('interfaces that are down and need an address are brought up, no others', async (test) => {
  const { inputs, run } = machine()
  test.same(await raiseLinks(desired, kernel, run, 1000), ['eth1'])
  test.same(inputs, ['link set dev eth1 up\n'])
})

t.test('without work nothing is run', async (test) => {
  const { inputs, run } = machine()
  test.same(await raiseLinks({ ...desired, addresses: [] }, kernel, run, 1000), [])
  await setLinks([], 'down', run, 1000)
  test.same(inputs, [])
})
