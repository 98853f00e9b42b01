import t from 'tap'
import { readInterfaces } from '../../../workers/probe/interfaces.ts'

t.test('interfaces are ordered by name, with numbers by value', async (test) => {
  const link = (ifname: string) => ({
    ifname,
    flags: ['UP'],
    address: `02:00:00:00:00:${ifname.slice(3).padStart(2, '0')}`,
  })
  const output = JSON.stringify(['eth10', 'eth2', 'eth1'].map(link))
  const run = async () => ({ exitCode: 0, output })
  test.same(
    (await readInterfaces(run)).map(({ name }) => name),
    ['eth1', 'eth2', 'eth10'],
  )
})

t.test('without iproute2 there is no list, and a failure is reported', async (test) => {
  test.same(await readInterfaces(async () => ({ exitCode: 127, output: 'ip is not installed' })), [])
  await test.rejects(
    readInterfaces(async () => ({ exitCode: 2, output: 'RTNETLINK' })),
    /RTNETLINK/,
  )
})
