import t from 'tap'
import { destKey, serviceKey } from '../../../src/ipvs/addresses.ts'
import { destinationKey, type IpvsPlan } from '../../../src/ipvs/names.ts'
import { IpvsReader } from '../../../src/ipvs/reader.ts'
import { IpvsPlaces, NO_ROW } from '../../../workers/archive/ipvs-places.ts'
import { IpvsSimulator } from '../../simulators/ipvs-simulator.ts'

const WEB = serviceKey('tcp', '192.0.2.10', 80)
const plan: IpvsPlan = {
  version: 1,
  frontends: [{ id: 'f', isOutboundSeen: true, services: [WEB] }],
  backends: [
    { id: 'e', isOutboundSeen: true, isUsed: false, members: [] },
    {
      id: 'b',
      isOutboundSeen: false,
      isUsed: true,
      members: [
        { ripId: 'r1', dests: [destinationKey(WEB, destKey('10.0.0.1', 80))], share: 'some' },
        { ripId: 'r2', dests: [destinationKey(WEB, destKey('10.0.0.2', 80))], share: 'some' },
      ],
    },
  ],
}

function kernelWith(...servers: readonly string[]) {
  const kernel = new IpvsSimulator()
  kernel.ipvsadm('-A', '-t', '192.0.2.99:80')
  kernel.ipvsadm('-a', '-t', '192.0.2.99:80', '-r', '10.0.0.1', '-m')
  kernel.ipvsadm('-A', '-t', '192.0.2.10:80')
  for (const server of servers) kernel.ipvsadm('-a', '-t', '192.0.2.10:80', '-r', server, '-m')
  return kernel
}

t.test('entries belong to rows by their keys, in any order; others to none', (t) => {
  const kernel = kernelWith('10.0.0.2', '10.0.0.9')
  const reader = new IpvsReader(kernel.channel())
  const places = new IpvsPlaces()
  places.take(plan)
  reader.read()
  places.follow(reader.table)
  t.strictSame([...places.serviceRows], [NO_ROW, 0])
  t.strictSame([...places.destRows], [NO_ROW, 4, NO_ROW], 'the same server in a foreign service')
  t.strictSame([...places.ownerRows], [NO_ROW, NO_ROW, NO_ROW, 2, 2])
  t.strictSame(places.outbound, [true, true, false, false, false])
  t.strictSame([...places.serviceCounts], [0, 0, 0, 1, 1])
  const { version, identity } = places
  reader.read()
  places.follow(reader.table)
  t.equal(places.version, version, 'the same entries are not looked up again')
  kernel.ipvsadm('-a', '-t', '192.0.2.10:80', '-r', '10.0.0.1', '-m')
  reader.read()
  places.follow(reader.table)
  t.not(places.version, version)
  t.not(places.identity, identity)
  t.equal(places.destRows[3], 3)
  places.take({ ...plan, version: 2, frontends: [] })
  places.follow(reader.table)
  t.strictSame([...places.serviceRows], [NO_ROW, NO_ROW])
  t.end()
})

t.test('the identity is that of the entries, also in another run', (t) => {
  const identity = (kernel: IpvsSimulator) => {
    const reader = new IpvsReader(kernel.channel())
    const places = new IpvsPlaces()
    places.take(plan)
    reader.read()
    places.follow(reader.table)
    return places.identity
  }
  t.equal(identity(kernelWith('10.0.0.1')), identity(kernelWith('10.0.0.1')))
  t.not(identity(kernelWith('10.0.0.1')), identity(kernelWith('10.0.0.2')))
  t.end()
})
