import t from 'tap'
import { COLUMNS, ipvsPlan } from '../../../src/ipvs/names.ts'
import { TWO_SECOND_TIERS } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { IpvsFeed } from '../../../workers/archive/ipvs-feed.ts'
import { l4Backend, l4Frontend } from '../../fixtures/config.ts'
import { IpvsSimulator } from '../../simulators/ipvs-simulator.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { viewOf } from '../../fixtures/view.ts'

const STATE = { hwm_s: 0, stored_s: 0, up: true, since_ms: 0, reason: undefined, storage: undefined, losses: 0 }
const TIME = { archive_s: 1_000, monotonic_s: 0 }
const plan = ipvsPlan(viewOf({ l4Backends: [l4Backend('b', [])], l4Frontends: [l4Frontend('f', 'b')] }), 4)

t.test(
  'idle without a plan; a reason without a socket or without IPVS; figures with the version of their plan',
  async (t) => {
    const writer = new ArchiveWriter(temporaryFolder(t), 1_000, TWO_SECOND_TIERS)
    const kernel = new IpvsSimulator()
    const feed = new IpvsFeed(kernel.channel(), writer)
    t.equal(feed.isIdle, true)
    feed.take(plan)
    t.equal(feed.isIdle, false)
    kernel.isLoaded = false
    t.match(feed.absorb(await feed.poll(), TIME), /this kernel has no IPVS/)
    t.match(feed.message(undefined, STATE), { message: { type: 'tick', figures: undefined, plan: 4 }, transfer: [] })
    kernel.isLoaded = true
    const figures = feed.absorb(await feed.poll(), TIME)
    if (typeof figures === 'string') throw new Error(figures)
    const { message, transfer } = feed.message(figures, STATE)
    t.equal(message.figures?.length, 2 * COLUMNS)
    t.equal(transfer.length, 1)
    const without = new IpvsFeed(undefined, writer)
    t.match(without.absorb(await without.poll(), TIME), /without its launcher/)
    await writer.close()
  },
)
