import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { apiClient } from '../system/api-client.ts'
import { namespaceObstacle } from '../system/network-namespace.ts'
import { type Appliance, client, create, done, FLOATING, seenBy, soon, startSite, whole } from './cluster-machines.ts'
import { editors, startClients } from './failover-clients.ts'
import { guestObstacle } from './guest.ts'

/** Two appliances and a witness, each an emulated machine: what happens to clients and to edits when machines fail. */

const skip = guestObstacle() ?? (await namespaceObstacle()) ?? false
const SOME = 20
/** What an edit waits for where nobody answers. */
const EDIT_PATIENCE_S = 20
const DELAY_MS = 50

const holds = async ({ guest }: Appliance) =>
  (await guest.run('ip', '-o', '-4', 'address', 'show', 'dev', 'eth1')).stdout.includes(` ${FLOATING}/`)
const percentile = (values: readonly number[], part: number) =>
  Math.round(values.toSorted((a, b) => a - b)[Math.floor(part * (values.length - 1))] ?? 0)

t.setTimeout(3_000_000)

t.test('two appliances and a witness', { skip }, async (t) => {
  const site = await startSite(t)
  const { space, left, right, witness, fip } = site
  const clients = await startClients(t, space)
  const both = [left, right] as const
  const moveTo = async (node: Appliance) => {
    await done(left, 'PUT', `/fips/${fip}/move`, { nodeId: node.id })
    await soon(`the address at ${node.name}`, () => holds(node))
  }
  const editor = async (node: Appliance) => {
    const api = client(space, node, EDIT_PATIENCE_S)
    await soon('a login', async () => (await api.logIn('admin@localhost', site.password)).status === 200)
    return api
  }
  const namesAt = async (node: Appliance) => {
    const records = (await done(node, 'GET', '/ipvsDirector/rips')) as readonly { readonly name: string }[]
    return new Set(records.map(({ name }) => name))
  }
  const areKept = async (t: Test, answered: readonly string[]) => {
    for (const node of both) {
      const missing = async () => {
        const names = await namesAt(node).catch(() => new Set())
        return answered.filter((name) => !names.has(name))
      }
      await soon(`what was answered, at ${node.name}`, async () => (await missing()).length === 0)
      t.same(await missing(), [], `${answered.length} answered edits are at ${node.name}`)
    }
  }

  await t.test('a session and a download go on, whatever takes the address from its node', async (t) => {
    await moveTo(left)
    const state = clients.session()
    const download = clients.download()
    await soon('answers', async () => state().answered > SOME && download.bytes() > 0)
    const goesOn = async (what: string, to: Appliance, begin: () => Promise<unknown>) => {
      const { longest_ms, answers, failed } = await clients.gap(async () => {
        // The kernel takes no other answer for an address within a second of the one before.
        await sleep(1_500)
        await begin()
        await soon(`the address at ${to.name}`, () => holds(to))
        const [{ answered }, bytes] = [state(), download.bytes()]
        const isOn = async () => state().answered > answered + SOME && download.bytes() > bytes
        await soon(`answers through ${to.name}`, isOn)
      })
      t.comment(`${what}: HTTP ${Math.round(longest_ms)} ms without an answer, ${failed} of ${answers + failed} failed`)
      t.equal(state().ended, '', what)
    }
    await goesOn('planned move', right, () => done(left, 'PUT', `/fips/${fip}/move`, { nodeId: right.id }))
    await goesOn('cable pulled', left, () => right.guest.cable(1, 'off'))
    await right.guest.cable(1, 'on')
    await whole(left)
    await goesOn('power cut', right, () => left.guest.cutPower())
    const { exitCode, bytes, isWhole } = await download.end()
    t.equal(exitCode, 0)
    t.ok(isWhole, `a download of ${bytes} bytes`)
    t.comment(`session: ${state().answered} answers; download: ${bytes} bytes`)
    await left.guest.powerOn()
    await site.logIn(left)
    await whole(right)
    t.notOk(await holds(left), 'it stays where it is')
  })

  await t.test('the power of one fails in the middle of commits: every answered edit is there', async (t) => {
    const edits = editors(await Promise.all([left, left, right, right].map((node) => editor(node))))
    await soon('edits', async () => edits.answered.length > SOME)
    await right.guest.cutPower()
    const before = edits.answered.length
    await soon('edits without it', async () => edits.answered.length > before + SOME)
    await soon('the address at the other', () => holds(left))
    await right.guest.powerOn()
    await edits.end()
    await site.logIn(right)
    await whole(left)
    await areKept(t, edits.answered)
  })

  await t.test('the power of all three fails in the middle of commits', async (t) => {
    const edits = editors(await Promise.all([left, left, right, right].map((node) => editor(node))))
    await soon('edits', async () => edits.answered.length > 2 * SOME)
    const machines = [left, right, witness]
    await Promise.all(machines.map(({ guest }) => guest.cutPower()))
    await edits.end()
    await Promise.all(machines.map(({ guest }) => guest.powerOn()))
    for (const node of both) await site.logIn(node)
    await whole(left)
    await areKept(t, edits.answered)
    const held = await Promise.all(both.map(holds))
    t.equal(held.filter(Boolean).length, 1, 'one of them has the address')
  })

  await t.test('one of several cards is cut off, and does not notice', async (t) => {
    await moveTo(left)
    const isHeldBy = async () => Promise.all(both.map(holds))
    await space.ip('link set lan1 nomaster')
    await soon('the address at the other', () => holds(right))
    await create(left, '/ipvsDirector/rips', { name: 'without lan', ip: '198.18.100.1', port: 80, weight: 1 })
    t.match(await seenBy(left), { quorum: true })
    await space.ip('link set lan1 master lan')
    await soon('one of them', async () => (await isHeldBy()).filter(Boolean).length === 1)
    await whole(left)
    await moveTo(left)

    await space.ip('link set site1 nomaster')
    await create(right, '/ipvsDirector/rips', { name: 'without site', ip: '198.18.100.2', port: 80, weight: 1 })
    const alone = apiClient((...argv) => left.guest.run(...argv))
    await soon('a login where it stands', async () => {
      return (await alone.logIn('admin@localhost', site.password)).status === 200
    })
    await soon('a refusal', async () => {
      const refused = await alone.request('POST', '/ipvsDirector/rips', { name: 'x', ip: '198.18.100.3', port: 80 })
      return refused.status === 503 && refused.text.includes('NO_QUORUM')
    })
    t.same(await isHeldBy(), [true, false], 'no address has moved')
    await space.ip('link set site1 master site')
    await whole(right)
    await areKept(t, ['without lan', 'without site'])
  })

  await t.test('the clock of one is set forward by an hour, and back', async (t) => {
    const before = await Promise.all(both.map(holds))
    const told = async () => JSON.stringify((await left.api.request('GET', '/events?limit=1000')).data)
    const names: string[] = []
    for (const [by, state] of [
      ['+1 hour', 'clock apart'],
      ['-1 hour', 'clock right'],
    ]) {
      await right.shell(`date -s '${by}'`)
      await soon(state ?? '', async () => (await told()).includes(`"${state}"`))
      await site.logIn(right)
      for (const node of both) {
        names.push(`${node.name} ${state}`)
        const ip = `198.18.101.${names.length}`
        await create(node, '/ipvsDirector/rips', { name: names.at(-1), ip, port: 80, weight: 1 })
      }
      t.same(await Promise.all(both.map(holds)), before, 'no address has moved')
      t.match(await seenBy(left), { quorum: true })
    }
    await whole(left)
    await areKept(t, names)
  })

  await t.test(`the witness answers ${DELAY_MS} ms later`, async (t) => {
    const measured = async (what: string) => {
      const edits = editors([await editor(left)])
      await soon('edits', async () => edits.took_ms.length > 2 * SOME)
      await edits.end()
      const [p50, p90] = [0.5, 0.9].map((part) => percentile(edits.took_ms, part))
      t.comment(`${what}: an edit ${p50} ms (p90 ${p90})`)
      return edits.answered
    }
    const answered = [...(await measured('as it was'))]
    await witness.shell(`modprobe sch_netem && tc qdisc add dev eth1 root netem delay ${DELAY_MS}ms`)
    answered.push(...(await measured('with the delay')))
    await right.guest.cutPower()
    answered.push(...(await measured('with the delay, and without the other node')))
    t.match(await seenBy(left), { quorum: true, witness: { state: 'online', isVoter: true } })
    await right.guest.powerOn()
    await site.logIn(right)
    await whole(left)
    await areKept(t, answered)
  })
})
