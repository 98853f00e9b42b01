import t from 'tap'
import type { Entry } from '../../../storage/config/entry.ts'
import { EtcdError } from '../../../src/etcd/errors.ts'
import { Quorum } from '../../../src/membership/quorum.ts'
import { refuses } from '../../fixtures/config.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

const EDIT: Entry = { op: 'put', table: 'sessions', puts: [], removed: [] }
const TAKEOVER = { op: 'takeover' } as Entry

function fixture() {
  const clock = manualClock()
  const sight = { isBack: false, asked: 0 }
  const list = async () => {
    sight.asked += 1
    if (!sight.isBack) throw new EtcdError('no-leader', 'it has no leader')
    return []
  }
  return { clock, sight, quorum: new Quorum({ etcd: { members: { list } }, clock }) }
}

t.test('a change waits for an election, and not for a quorum that was long absent', async (test) => {
  const { clock, sight, quorum } = fixture()
  await quorum.assert(EDIT)
  quorum.note(false)
  test.equal(quorum.isThere, false)
  clock.advance(4_999)
  quorum.note(false)
  await quorum.assert(EDIT)
  test.equal(sight.asked, 0)
  clock.advance(1)
  for (let edits = 0; edits < 100; edits += 1) await refuses(test, 'NO_QUORUM', quorum.assert(EDIT))
  test.equal(sight.asked, 1, 'one query for all of them')
  await quorum.assert(TAKEOVER)
  sight.isBack = true
  clock.advance(500)
  await quorum.assert(EDIT)
  test.equal(sight.asked, 2, 'it is back before the next look')
})

t.test('once it is back the time restarts', async (test) => {
  const { clock, sight, quorum } = fixture()
  quorum.note(false)
  clock.advance(60_000)
  quorum.note(true)
  test.equal(quorum.isThere, true)
  quorum.note(false)
  clock.advance(4_999)
  await quorum.assert(EDIT)
  test.equal(sight.asked, 0)
})
