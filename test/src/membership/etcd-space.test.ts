import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { EtcdError } from '../../../src/etcd/errors.ts'
import type { Alarm, MemberStatus } from '../../../src/etcd/maintenance.ts'
import { EtcdSpace } from '../../../src/membership/etcd-space.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const MIB = 2 ** 20
const sized = (memberId: string, dbSize: number, dbSizeInUse: number, errors: readonly string[] = []) =>
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the rest is not looked at
  ({ memberId, leader: '1', dbSize, dbSizeInUse, errors, revision: 7 }) as unknown as MemberStatus

function made(members: Record<string, MemberStatus | undefined>, alarms: Alarm[] = []) {
  const done: string[] = []
  const clock = manualClock(1_000_000)
  const etcd = {
    compact: async (revision: number) => {
      done.push(`compact ${revision}`)
      throw new EtcdError('compacted', 'it was')
    },
    maintenance: {
      status: async ({ at }: { readonly at: string }) => {
        const status = members[at]
        if (status === undefined) throw new EtcdError('unreachable', 'it is away')
        return status
      },
      defragment: async ({ at }: { readonly at: string }) => void done.push(`rewrite ${at}`),
      alarms: async () => alarms,
      disarm: async ({ memberId }: Alarm) => void done.push(`disarm ${memberId}`),
    },
  }
  const space = new EtcdSpace({ etcd: etcd as never, urls: () => Object.keys(members), clock, log: silentLog })
  return { space, done, clock }
}

t.test('large files that are mostly free are rewritten, those of other members first', async (t) => {
  const own = sized('1', 100 * MIB, 40 * MIB)
  const { space, done, clock } = made({
    b: sized('2', 65 * MIB, 10 * MIB),
    c: undefined,
    d: sized('4', 65 * MIB, 64 * MIB),
    e: sized('5', 63 * MIB, MIB),
    a: own,
  })
  await space.look(own)
  t.same(done, ['rewrite b', 'rewrite a'])
  await space.look(own)
  t.equal(done.length, 2, 'it was checked a moment ago')
  clock.advance(60_000)
  await space.look(own)
  t.equal(done.length, 4)
})

t.test('the node whose member leads does it', async (t) => {
  const { space, done } = made({ a: sized('2', 100 * MIB, MIB) })
  await space.look(sized('2', 100 * MIB, MIB, ['alarm:NOSPACE']))
  t.same(done, [])
})

t.test('without space left, every member frees some, and writes are allowed again', async (t) => {
  const own = sized('1', 5 * MIB, 4 * MIB, ['memberID:1 alarm:NOSPACE '])
  const { space, done, clock } = made({ b: sized('2', 5 * MIB, 4 * MIB), a: own }, [
    { memberId: '1', kind: 'NOSPACE' },
    { memberId: '2', kind: 'NOSPACE' },
    { memberId: '2', kind: 'CORRUPT' },
  ])
  await space.look(own)
  t.same(done, ['compact 7', 'rewrite b', 'rewrite a', 'disarm 1', 'disarm 2'])
  await space.look(own)
  t.equal(done.length, 5, 'not at every look')
  clock.advance(5_000)
  await space.look(own)
  t.equal(done.length, 10)
})

t.test('a member that nodes cannot ask has its own file rewritten, whoever leads', async (t) => {
  const own = sized('2', 100 * MIB, MIB)
  const { space, done, clock } = made({ own })
  await space.lookAlone(own)
  await space.lookAlone(own)
  t.same(done, ['rewrite own'], 'once a minute')
  const full = made({ own: sized('2', MIB, MIB) })
  const alarmed = sized('2', MIB, MIB, ['alarm:NOSPACE'])
  await full.space.lookAlone(alarmed)
  t.same(full.done, ['rewrite own'], 'without space left, however small it is')
  clock.advance(60_000)
  await space.lookAlone(sized('2', MIB, MIB))
  t.equal(done.length, 2)
})
