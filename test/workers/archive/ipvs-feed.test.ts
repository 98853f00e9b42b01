import t from 'tap'
import { ipvsPlan } from '../../../src/ipvs/names.ts'
import { TWO_SECOND_TIERS } from '../../../storage/archive/tiers.ts'
import { ArchiveWriter } from '../../../storage/archive/writer.ts'
import { IpvsFeed } from '../../../workers/archive/ipvs-feed.ts'
import { l4Backend, l4Frontend } from '../../config-fixture.ts'
import { IpvsSimulator } from '../../ipvs-simulator.ts'
import { temporaryFolder } from '../../storage/temporary-archive.ts'
import { viewOf } from '../../view-fixture.ts'

const STATE = { hwm_s: 0, up: true, since_ms: 0, reason: undefined, storage: undefined, losses: 0 }
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
    await feed.ask()
    t.match(feed.absorb(TIME), /this kernel has no IPVS/)
    t.match(feed.message(STATE), { message: { type: 'table', figures: undefined, plan: 4 }, transfer: [] })
    kernel.isLoaded = true
    await feed.ask()
    t.equal(feed.absorb(TIME), undefined)
    const { message, transfer } = feed.message(STATE)
    t.ok(message.type === 'table' && message.figures?.length === 2 * 16)
    t.equal(transfer.length, 1)
    const without = new IpvsFeed(undefined, writer)
    await without.ask()
    t.match(without.absorb(TIME), /without its launcher/)
    await writer.close()
  },
)
