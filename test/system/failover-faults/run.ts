import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { seededRandom } from '../../storage/archive/reference-model.ts'
import { longestGap, longestShared, recordViolations, type Span } from './checker.ts'
import { type Fault, FAULTS, MOVE } from './faults.ts'
import { Client, Observer } from './inside.ts'
import { FLOATING, now_us } from './lines.ts'
import { Report } from './report.ts'
import { type Site, type SiteNode, startSite } from './site.ts'

/** Edits and traffic on a site under one fault after another. */

const EMAIL = 'admin@localhost'
const SETTLED_WITHIN_MS = 300_000
const LOOK_EVERY_MS = 250
/** Nodes that are still not well are reported. */
const LONG_MS = 3_000
/** A client ignores another answer for an address within a second of the previous one. */
const KNOWN_MS = 1_300
const [HOLD_MS_MIN, HOLD_MS_MAX] = [800, 6_000]
/** Nodes that hear each other again agree on the holder of an address within so many microseconds. */
const HEALED_US = 2_000_000
/** Longer than any delay of a busy machine. */
const SHARED_US_MAX = 5_000_000
const BEFORE_US = 5_000_000
const ANSWERED_WITHIN_US = 600_000
const [MOVE_SHARE, TWO_SHARE] = [0.08, 0.2]
const TOLD_MAX = 20
const NOT_SETTLED_MAX = 3
const JOURNAL_LINES = '60'

interface World {
  readonly test: Test
  readonly site: Site
  readonly observers: readonly Observer[]
  readonly client: Client
  readonly random: () => number
  readonly report: Report
  /** Spans in which nodes could not hear each other. */
  readonly cut: Span[]
}

async function started(test: Test, seed: number): Promise<World> {
  const site = await startSite(test)
  const { password } = site
  const observers = site.nodes.map(
    (node, at) => new Observer(test, node, { name: node.name, seed: seed * 1_000 + at, email: EMAIL, password }),
  )
  const client = new Client(test, site)
  await client.begun()
  return { test, site, observers, client, random: seededRandom(seed), report: new Report(), cut: [] }
}

/** Returns why the site is not as it should be, or undefined. Checks the nodes, their networks, and a client. */
async function unsettled({ observers, client }: World): Promise<string | undefined> {
  for (const ip of FLOATING) {
    const holders = observers.filter(({ holds }) => holds.includes(ip)).map(({ node }) => node.name)
    if (holders.length !== 1) return `${ip} is held by ${holders.join(' and ') || 'nobody'}`
  }
  const { last_us } = await client.count()
  const silent = FLOATING.filter((_, at) => now_us() - (last_us[at] ?? 0) > ANSWERED_WITHIN_US)
  if (silent.length > 0) return `nobody answers at ${silent.join()}`
  for (const observer of observers) {
    const { health } = await observer.ask('health', 'health')
    const { name } = observer.node
    if (health === null) return `${name} does not answer`
    if (!health.quorum || health.halted !== null) return `${name}: ${JSON.stringify(health)}`
    const ill = health.nodes.filter(({ isWell, isReady }) => !isWell || !isReady)
    if (ill.length > 0) return `${name} says of ${ill.map((node) => node.name).join()}: ${JSON.stringify(ill)}`
  }
  return undefined
}

/** Returns why it does not settle, or undefined. */
async function settled(world: World): Promise<string | undefined> {
  const { test, site } = world
  const from_ms = performance.now()
  const until_ms = from_ms + SETTLED_WITHIN_MS
  let isTold = false
  for (;;) {
    const why = await unsettled(world)
    if (!isTold && why !== undefined && performance.now() > from_ms + LONG_MS) {
      isTold = true
      test.comment(`not yet well: ${why}`)
      test.comment(`the client: ${(await site.lan.output('ip', 'neighbour')).replaceAll('\n', ', ')}`)
      for (const { name, machine } of site.nodes)
        for (const words of [['-o', 'address', 'show', 'dev', 'svc0'], ['neighbour']])
          test.comment(`${name}: ${(await machine.output('ip', ...words)).replaceAll('\n', ', ')}`)
    }
    if (why === undefined || performance.now() > until_ms) return why
    await sleep(LOOK_EVERY_MS)
  }
}

function oneOf<T>(random: () => number, some: readonly T[]): T {
  const one = some[Math.floor(random() * some.length)]
  if (one === undefined) throw new Error('none to choose from')
  return one
}

/** One fault of one node. */
interface Blow {
  readonly fault: Fault
  readonly node: SiteNode
}

/** Mostly one, sometimes two at a time, on different nodes. */
function chosen({ random, site }: World): readonly Blow[] {
  const blow = (nodes: readonly SiteNode[]) => ({ fault: oneOf(random, FAULTS), node: oneOf(random, nodes) })
  const first = blow(site.nodes)
  return random() < TWO_SHARE ? [first, blow(site.nodes.filter((node) => node !== first.node))] : [first]
}

async function strike(world: World, blows: readonly Blow[]): Promise<void> {
  const { site, random, cut, client, report, test, observers } = world
  const from_us = now_us()
  const isHolder = (node: SiteNode) => observers.some((one) => one.node === node && one.holds.length > 0)
  const atHolder = blows.some(({ node }) => isHolder(node))
  const isCut = blows.some(({ fault }) => fault.cutsService)
  const mends = []
  for (const { fault, node } of blows) mends.push(await fault.strike(node, site))
  await sleep(HOLD_MS_MIN + random() * (HOLD_MS_MAX - HOLD_MS_MIN))
  for (const mend of mends) await mend()
  const mended_us = now_us()
  if (isCut) cut.push({ from_us, to_us: mended_us + HEALED_US })
  const why = await settled(world)
  const titles = blows.map(({ fault, node }) => `${fault.title} (${node.name})`).join(' and ')
  if (why !== undefined) await broken(world, `behind ${titles}: ${why}`)
  const to_us = now_us()
  const gap_ms = longestGap(client.gaps, { from_us, to_us }) / 1000
  const [only] = blows
  const single = blows.length === 1 && only !== undefined ? only.fault : { title: 'two at a time', goal_ms: undefined }
  report.add(single, { gap_ms, atHolder, settled_ms: (to_us - mended_us) / 1000 })
  const where = atHolder ? 'at a holder' : 'elsewhere'
  test.comment(`held: ${heldSince(world, from_us)}`)
  test.pass(`${titles}, ${where}: ${gap_ms > 0 ? gapsIn(world, from_us) : 'answered all the time'}`)
}

const heldSince = ({ observers }: World, since_us: number): string =>
  observers
    .flatMap((one) => one.held)
    .filter(({ at_us }) => at_us > since_us - BEFORE_US)
    .toSorted((a, b) => a.at_us - b.at_us)
    .map(({ node, held, at_us }) => `${node} at ${Math.round((at_us - since_us) / 1000)}: ${held.join(' ')}`)
    .join('; ')

const gapsIn = ({ client }: World, since_us: number): string =>
  client.gaps
    .filter(({ to_us }) => to_us > since_us)
    .map(({ ip, from_us, to_us, before, after }) => {
      const [at, long] = [from_us - since_us, to_us - from_us].map((us) => Math.round(us / 1000))
      return `${ip} at ${at} for ${long} from ${before} to ${after}`
    })
    .join('; ')

/** Requests the move of an address to another node. */
async function move(world: World): Promise<void> {
  const { site, random, client, report } = world
  const from_us = now_us()
  const target = Math.floor(random() * site.nodeIds.length)
  const asked = oneOf(random, site.nodes).machine.api
  const path = `/fips/${oneOf(random, site.floatingIds)}/move`
  const body = { nodeId: site.nodeIds[target] }
  let answer = await asked.request('PUT', path, body)
  if (answer.status === 401) {
    await asked.logIn(EMAIL, site.password)
    answer = await asked.request('PUT', path, body)
  }
  const moved_us = now_us()
  if (answer.status !== 200) await broken(world, `a planned move: ${answer.status} ${answer.text}`)
  const why = await settled(world)
  if (why !== undefined) await broken(world, `after a planned move: ${why}`)
  const gap_ms = longestGap(client.gaps, { from_us, to_us: now_us() }) / 1000
  report.add(MOVE, { gap_ms, atHolder: true, settled_ms: (now_us() - moved_us) / 1000 })
}

/** Records a violation, with data that helps to find its reason. */
async function broken({ report, test, observers }: World, violation: string): Promise<void> {
  report.violations.push(violation)
  test.comment(violation)
  for (const { node } of observers) {
    const { stdout } = await node.machine.machine.run('journalctl', '-n', JOURNAL_LINES, '-o', 'cat', '--no-pager')
    test.comment(`${node.name}: ${stdout}`)
  }
}

/** The records of a node; others may learn of an apply a moment later. */
async function shown(observer: Observer) {
  for (const from_ms = performance.now(); ; await sleep(LOOK_EVERY_MS)) {
    const has = await observer.ask('show', 'show')
    if (has.pending === 0 || performance.now() - from_ms > SETTLED_WITHIN_MS) return has
  }
}

/** Judges the final records of each node, when edits have stopped and everything is applied. */
async function judged(world: World): Promise<readonly string[]> {
  const { observers, report } = world
  for (const observer of observers) await observer.ask('rest', 'rest')
  const why = await settled(world)
  if (why !== undefined) return [`in the end: ${why}`]
  const [first] = observers
  await first?.ask('apply', 'apply')
  const edits = observers.flatMap((observer) => observer.edits)
  report.edited(edits, observers)
  const violations: string[] = []
  for (const observer of observers) {
    const { records, pending } = await shown(observer)
    const { name } = observer.node
    if (!observer.edits.some(({ outcome }) => outcome === 'answered')) violations.push(`${name} has answered no edit`)
    const own = ({ name: called }: { readonly name: string }) => called !== 'origin'
    if (records === null) violations.push(`${name} does not answer`)
    else violations.push(...recordViolations(name, edits, records.filter(own)))
    if (pending !== 0) violations.push(`${name} has ${pending} changes that are not applied`)
  }
  return violations
}

/** Runs faults for some time, and at least so many; then every answered edit has to be there. */
export async function liveThroughFaults(test: Test, seed: number, seconds: number, least: number): Promise<void> {
  test.comment(`FULCRUM_TEST_FAULT_SEED=${seed}, ${seconds} seconds of faults`)
  const world = await started(test, seed)
  const { report, random, observers, cut } = world
  const why = await settled(world)
  test.equal(why, undefined, 'everything is well before')
  const from_ms = performance.now()
  const isOver = () => performance.now() - from_ms > seconds * 1000 && report.total >= least
  while (!isOver() && report.violations.length < NOT_SETTLED_MAX) {
    await sleep(KNOWN_MS)
    await (random() < MOVE_SHARE ? move(world) : strike(world, chosen(world)))
  }
  const lasted_s = Math.round((performance.now() - from_ms) / 1000)
  report.violations.push(...(await judged(world)))
  const shared_us = longestShared(
    observers.flatMap(({ held }) => held),
    cut,
  )
  if (shared_us > SHARED_US_MAX) report.violations.push(`an address was at two nodes for ${shared_us} µs`)
  const { answers, failed } = await world.client.count()
  test.comment(`${lasted_s} s, ${answers} answers, ${failed} requests without one`)
  test.comment(`an address at two nodes that hear each other: at the most ${Math.round(shared_us / 1000)} ms`)
  for (const line of report.lines()) test.comment(line)
  test.same(report.violations.slice(0, TOLD_MAX), [], 'answered edits are there, and addresses are at one node')
}
