import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { ApiClient } from '../system/api-client.ts'
import { done, form, join, seenBy, whole } from '../system/site-machines.ts'
import { type Appliance, DELAY_MS, FLOATING, LAN, ORIGIN, siteObstacle, soon, startSite } from './cluster-site.ts'

/**
 * A pair and a witness on three machines, whose power, network interfaces and clocks fail one after another under
 * edits.
 */

const EDITS = 10
/** Edits before a failure, and after it. */
const SOME = 5
/** An edit that was lost with the power gets no answer. */
const EDIT_S = 30
/** Emulated machines now and then stall for longer than the resulting default of 0.6 s. */
const ADVERT_INTERVAL_S = 1

t.setTimeout(1_800_000)

const rounded = (ms: number) => `${Math.round(ms)} ms`

t.test('a cluster of three machines', { skip: (await siteObstacle()) ?? false }, async (t) => {
  const { left, right, witness, uplink, isServed } = await startSite(t)
  const nodes = [left, right] as const
  let fip = ''
  /** The node whose power was cut. */
  let gone: Appliance = left
  const otherThan = (node: Appliance) => (node === left ? right : left)
  /** Names of all edits that were answered. */
  const answered = new Set<string>()
  let edits = 0
  /** Returns whether it was answered. Each edit has a unique name, also one that replaces another. */
  const edit = async (api: ApiClient) => {
    const name = `edit ${(edits += 1)}`
    const { status } = await api.request('POST', '/ipvsDirector/rips', { name, ip: '192.0.2.1', port: 80 })
    if (status === 201) answered.add(name)
    return status === 201
  }
  const namesAt = async (node: Appliance) =>
    new Set(((await done(node, 'GET', '/ipvsDirector/rips')) as { name: string }[]).map(({ name }) => name))
  const missingAt = async (node: Appliance) => {
    const names = await namesAt(node)
    return [...answered].filter((name) => !names.has(name))
  }
  const hasAll = async (t: Test, ...those: readonly Appliance[]) => {
    for (const node of those) {
      // A majority has the answered edits; the others learn of them.
      await soon(`what was edited, on ${node.name}`, async () => (await missingAt(node)).length === 0)
      t.same(await missingAt(node), [], `${answered.size} answered edits are there on ${node.name}`)
    }
  }
  /** Repeats requests that are refused during elections. */
  const sent = async (method: string, path: string, body?: object) => {
    let answer = { status: 0, text: '', data: undefined as unknown }
    await soon(`answer to ${method} ${path}`, async () => {
      answer = await left.api.request(method, path, body)
      return answer.status !== 503 || !answer.text.includes('Nothing was changed')
    })
    if (answer.status === 0 || answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.data
  }
  const created = async (path: string, body: object) => ((await sent('POST', path, body)) as { id: string }).id
  const logIn = (node: Appliance, api: ApiClient = node.api) =>
    soon(`login at ${node.name}`, async () => (await api.logIn('admin@localhost', left.password)).status === 200)
  const witnessIs = (node: Appliance, state: string) =>
    soon(`a witness that is ${state}`, async () => {
      const seen = (await seenBy(node))?.witness
      return seen?.isVoter === true && seen.state === state
    })
  /** All three vote and are reached, which an election may interrupt for a moment, and no node has taken over. */
  const isWhole = async (t: Test, node: Appliance) => {
    let seen: Awaited<ReturnType<typeof seenBy>>
    await soon(`a whole cluster, by ${node.name}`, async () => {
      seen = await seenBy(node)
      return seen?.quorum === true && seen.spareVotes === 1
    })
    t.match(seen, { epoch: 1 }, 'no node has taken over')
  }
  /** The leading node; the witness hands leadership on. */
  const leader = async () => {
    let leads: Appliance | undefined
    await soon('a node that leads', async () => {
      const name = (await seenBy(left))?.nodes.find(({ isLeader }) => isLeader)?.name
      leads = nodes.find((node) => node.name === name)
      return leads !== undefined
    })
    return leads as Appliance
  }
  /** Edits at these nodes, one after another, while `fail` is carried out; then until `goesOn` has answered some. */
  const underEdits = async (
    t: Test,
    what: string,
    at: readonly Appliance[],
    goesOn: Appliance,
    fail: () => unknown,
  ) => {
    let isOn = true
    let failed_ms = Infinity
    /** Times at which `goesOn` answered edits that were sent after the failure. */
    const since_ms: number[] = []
    const counts = new Map(at.map((node) => [node, 0]))
    const write = async (node: Appliance) => {
      const api = node.client(EDIT_S)
      await logIn(node, api)
      while (isOn) {
        const begun_ms = performance.now()
        if (await edit(api)) {
          counts.set(node, (counts.get(node) ?? 0) + 1)
          if (node === goesOn && begun_ms > failed_ms) since_ms.push(performance.now() - failed_ms)
        } else await sleep(100)
      }
    }
    const writing = Promise.all(at.map(write))
    await soon('edits at each', async () => [...counts.values()].every((count) => count >= SOME))
    await fail()
    failed_ms = performance.now()
    await soon(`edits behind ${what}`, async () => since_ms.length >= SOME)
    isOn = false
    await writing
    t.comment(
      `${what}: an edit was answered ${rounded(since_ms[0] ?? NaN)} later, ${SOME} by ${rounded(since_ms[SOME - 1] ?? NaN)}`,
    )
  }

  await t.test('they become a cluster, as documented', async (t) => {
    await form(left, left.name)
    await join(right, right.name, left)
    await whole(left, 2)
    await soon('an edit', () => edit(left.api))
    await soon('that edit on the other one', async () => (await missingAt(right)).length === 0)
    const said = () => witness.output('systemctl', 'show', '-P', 'StatusText', 'fulcrum')
    await soon('a witness that waits', async () => (await said()).includes('waits for a token'))
    const { token } = (await sent('POST', '/cluster/tokens', { role: 'witness' })) as { token: string }
    await witness.shell(`umask 077; echo ${token} > /var/lib/fulcrum/join-token`)
    for (const node of nodes) await witnessIs(node, 'online')
    await isWhole(t, right)
    t.match(await said(), /votes in the cluster site/)
  })

  await t.test('the witness is far away, and edits do not wait for it', async (t) => {
    const [, least = ''] = /= ([\d.]+)\//.exec(await left.output('ping', '-qc', '5', witness.ip)) ?? []
    t.ok(Number(least) >= 2 * DELAY_MS, `${least} ms there and back`)
    await leader()
    const took: number[] = []
    await soon('edits', async () => {
      for (const { api } of nodes) {
        const begun_ms = performance.now()
        if (await edit(api)) took.push(performance.now() - begun_ms)
      }
      return took.length >= EDITS
    })
    took.sort((a, b) => a - b)
    t.comment(`an edit takes ${rounded(took[EDITS / 2] ?? NaN)} (up to ${rounded(took.at(-1) ?? NaN)})`)
    await uplink('down')
    await witnessIs(left, 'unreachable')
    for (const { name, api } of nodes) await soon(`an edit at ${name} without a witness`, () => edit(api))
    await uplink('up')
    await witnessIs(left, 'online')
    await hasAll(t, ...nodes)
  })

  await t.test('one of them has a floating IP', async (t) => {
    // Each is asked itself: a node that reports its network interfaces late to another counts as away.
    const cardOf = async (node: Appliance) =>
      ((await done(node, 'GET', `/${node.id}/interfaces`)) as { id: string; name: string }[]).find(
        ({ name }) => name === 'eth2',
      )?.id
    const assignedInterfaces = await Promise.all(
      nodes.map(async (node) => ({ nodeId: node.id, interfaceId: await cardOf(node) })),
    )
    const subnet = { networkIp: `${LAN}.0`, networkMask: 24, advertInterval: ADVERT_INTERVAL_S }
    const groupId = await created('/ipgroups', { name: 'lan', ...subnet, assignedInterfaces })
    for (const [at, { id }] of nodes.entries())
      await created(`/${id}/sips`, { groupId, ip: `${LAN}.${at + 11}`, externalPingCheck: false })
    fip = await created('/fips', { ip: FLOATING, groupId, enabled: true })
    const ripId = await created('/ipvsDirector/rips', { name: 'origin', ...ORIGIN })
    const defaultBackendId = await created('/layer7proxy/backends', { name: 'web', mode: 'http', reals: [{ ripId }] })
    await created('/layer7proxy/frontends', { name: 'web', mode: 'http', ip: FLOATING, ports: '80', defaultBackendId })
    await sent('PUT', '/services/apply')
    await soon('the address at one', async () => (await left.holds()) !== (await right.holds()))
    await soon('traffic', isServed)
    t.not(await left.holds(), await right.holds())
  })

  await t.test('the power of the node that leads and has the address is cut', async (t) => {
    gone = await leader()
    const stays = otherThan(gone)
    if (!(await gone.holds())) await sent('PUT', `/fips/${fip}/move`, { nodeId: gone.id })
    t.ok(await gone.holds(), `${gone.name} leads and has the address`)
    await underEdits(t, 'power cut', nodes, stays, () => gone.guest.cutPower())
    await hasAll(t, stays)
    t.match(await seenBy(stays), { quorum: true, epoch: 1, spareVotes: 0 }, 'no node has taken over')
    await soon('the address at the other one', () => stays.holds())
    await soon('traffic', isServed)
  })

  await t.test('it has power again, and all edits', async (t) => {
    const stays = otherThan(gone)
    await gone.guest.powerOn()
    await whole(stays, 2)
    await logIn(gone)
    await witnessIs(gone, 'online')
    await hasAll(t, ...nodes)
    await isWhole(t, gone)
    t.same([await gone.holds(), await stays.holds()], [false, true], 'the address stays where it is')
  })

  await t.test('a cable of the service network is pulled: the address moves, and edits continue', async (t) => {
    const holder = otherThan(gone)
    await underEdits(t, 'service cable', nodes, holder, () => holder.guest.cable(2, 'off'))
    await soon('the address at the other one', () => gone.holds())
    await soon('traffic', isServed)
    await holder.guest.cable(2, 'on')
    await hasAll(t, ...nodes)
  })

  await t.test('a cable of the cluster is pulled: the other node and the witness continue', async (t) => {
    const cut = await leader()
    const stays = otherThan(cut)
    await underEdits(t, 'cluster cable', nodes, stays, () => cut.guest.cable(1, 'off'))
    await hasAll(t, stays)
    await cut.guest.cable(1, 'on')
    await whole(stays, 2)
    await soon('what was edited meanwhile', async () => (await missingAt(cut)).length === 0)
    await hasAll(t, ...nodes)
    await isWhole(t, cut)
  })

  await t.test('a clock is set forward and back by an hour', async (t) => {
    for (const by of ['+1 hour', '-1 hour'] as const) {
      await underEdits(t, `clock ${by}`, [right], right, () => left.shell(`date -s '${by}'`))
      // An hour later all tokens have expired.
      await logIn(left)
      await soon('an edit there', () => edit(left.api))
      await whole(right, 2)
      await hasAll(t, ...nodes)
    }
    await isWhole(t, right)
  })
})
