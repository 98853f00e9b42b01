import { join } from 'node:path'
import t from 'tap'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { readKernel, UnreadableKernel } from '../../../../workers/host/network/kernel-state.ts'

/** The answers of `ip` by its arguments. */
function kernel(answers: Readonly<Record<string, unknown>>) {
  return async (argv: readonly string[]) => {
    const key = Object.keys(answers).find((words) => argv.join(' ').includes(words))
    return { exitCode: 0, output: key === undefined ? '' : JSON.stringify(answers[key]) }
  }
}

t.test('routes and rules are read in one form, whatever iproute2 leaves out', async (test) => {
  const { routes, rules, addresses } = await readKernel(
    kernel({
      'address show': [
        {
          ifname: 'eth0',
          flags: ['UP'],
          addr_info: [
            { family: 'inet', local: '10.0.0.5', prefixlen: 24, scope: '0' },
            { family: 'inet', local: '10.0.0.6', prefixlen: 24, scope: '0', secondary: true },
          ],
        },
      ],
      '-4 route': [
        { dst: 'default', gateway: '10.0.0.1', dev: 'eth0', protocol: '70' },
        { type: '6', dst: '10.9.0.0/16', protocol: '70', metric: 5 },
        { dst: '10.7.0.7', dev: 'eth0', table: '200', protocol: '16', tos: '4' },
        { type: '2', dst: '10.0.0.5', dev: 'eth0', table: '255', protocol: '2' },
      ],
      '-6 route': [{ type: '6', dst: '2001:db8:9::/48', dev: 'lo', protocol: '70', metric: 1024 }],
      '-4 rule': [
        { priority: 0, src: 'all', table: '255' },
        { priority: 10_000, src: '10.0.0.0', srclen: 24, table: '254', suppress_prefixlen: 0, protocol: '70' },
        { priority: 100, src: 'all', table: '200', fwmark: '0x1' },
      ],
    }),
    1000,
  )
  test.match(addresses, [
    { link: 'eth0', ip: '10.0.0.5', prefix: 24, isSecondary: false },
    { ip: '10.0.0.6', isSecondary: true },
  ])
  const route = { family: 4, table: 254, metric: 0, via: undefined, device: undefined, isKernels: false }
  test.same(routes, [
    { ...route, destination: '0.0.0.0/0', type: 'unicast', via: '10.0.0.1', device: 'eth0', isOurs: true },
    { ...route, destination: '10.9.0.0/16', type: 'blackhole', metric: 5, isOurs: true },
    { ...route, destination: '10.0.0.5/32', type: '2', table: 255, isOurs: false, isKernels: true },
    { ...route, family: 6, destination: '2001:db8:9::/48', type: 'blackhole', metric: 1024, isOurs: true },
  ])
  const rule = { family: 4, from: undefined, to: undefined, suppressPrefixLength: undefined }
  test.same(rules, [
    { ...rule, priority: 0, table: 255, isOurs: false },
    { ...rule, priority: 10_000, from: '10.0.0.0/24', table: 254, suppressPrefixLength: 0, isOurs: true },
  ])
})

t.test('link-local addresses are seen, and sources that routes of others name', async (test) => {
  const { addresses, sources } = await readKernel(
    kernel({
      'address show': [
        { ifname: 'eth0', addr_info: [{ family: 'inet6', local: 'fe80::1234', prefixlen: 128, scope: '253' }] },
      ],
      '-4 route': [
        { dst: '10.0.0.0/24', dev: 'eth0', protocol: '2', prefsrc: '10.0.0.5' },
        { dst: 'default', gateway: '10.0.0.1', protocol: '70', prefsrc: '10.0.0.6' },
        { dst: '10.7.0.0/16', gateway: '10.0.0.1', protocol: '3', prefsrc: '10.0.0.7', tos: '4' },
      ],
      '-6 route': [{ dst: '2001:db8:7::/48', protocol: '4', prefsrc: '2001:db8::7' }],
    }),
    1000,
  )
  test.match(addresses, [{ link: 'eth0', ip: 'fe80::1234', prefix: 128 }])
  test.same([...sources], ['10.0.0.7', '2001:db8::7'])
})

t.test('a kernel without IPv6 is not asked about it', async (test) => {
  const asked: string[] = []
  const answer = kernel({ '-4 route': [{ dst: 'default', gateway: '10.0.0.1', dev: 'eth0' }] })
  const run = async (argv: readonly string[]) => {
    asked.push(argv.join(' '))
    if (argv.includes('-6')) return { exitCode: 2, output: 'RTNETLINK answers: Address family not supported' }
    return await answer(argv)
  }
  test.match(await readKernel(run, 1000, join(temporaryFolder(test, 'proc'), 'if_inet6')), {
    routes: [{ family: 4, via: '10.0.0.1' }],
    rules: [],
  })
  test.equal(asked.length, 3)
})

t.test('a read error of iproute2 is a failure with its exit code and message', async (test) => {
  const missing = async () => ({ exitCode: 127, output: 'ip is not installed' })
  const error = await readKernel(missing, 1000).catch((reason: unknown) => reason)
  test.ok(error instanceof UnreadableKernel)
  test.match(error, { exitCode: 127, message: 'ip is not installed' })
  test.match(await readKernel(async () => ({ exitCode: 1, output: '' }), 1000).catch(String), /exit code 1/)
})
