import t from 'tap'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { HaproxyFeed } from '../../../workers/archive/haproxy-feed.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { listen, STATS } from './socket-fixture.ts'

const STATE = { hwm_s: 0, stored_s: 0, up: true, since_ms: 0, reason: undefined, storage: undefined, losses: 0 }
const TIME = { archive_s: 1_000, monotonic_s: 0 }

t.test('an answer with its rows, and its objects sent once; no answer, with the reason', async (t) => {
  let answer = `Pid: 5\nUptime_sec: 90000\n\n${STATS}`
  const path = await listen(t, () => answer)
  const writer = new ArchiveWriter(temporaryFolder(t), 1_000)
  const feed = new HaproxyFeed({ kind: 'stats-socket', path }, writer)
  const tick = async () => {
    const absorbed = feed.absorb(await feed.poll(60_000), TIME)
    return typeof absorbed === 'string' ? absorbed : feed.message(absorbed, STATE)
  }
  const first = await tick()
  if (typeof first === 'string') throw new Error(first)
  t.equal(first.message.listed?.length, 1)
  const { csv, rows, kinds, statuses } = first.message
  t.same(first.transfer, [csv?.buffer, rows?.buffer, kinds?.buffer, statuses?.buffer], 'moved, not copied')
  for (const each of [kinds, statuses]) t.equal(each?.length, (rows?.length ?? 0) - 1, 'the header has none')
  t.match(await tick(), { message: { type: 'tick', listed: undefined } }, 'the same rows')
  answer = answer.slice(0, -10)
  t.equal(await tick(), 'its answer was cut off')
  t.match(feed.message(undefined, STATE), {
    message: { csv: undefined, rows: undefined, statuses: undefined },
    transfer: [],
  })
  await writer.close()
})
