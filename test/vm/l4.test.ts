import t from 'tap'
import type { Attention } from '../../src/model/overview.ts'
import { guestObstacle } from './guest.ts'
import { startLayer4 } from './l4-appliance.ts'
import { CLIENTS, clientIp, HEALTH_PORT, serverIp, SERVERS, VIP } from './l4-lab.ts'

/** Layer 4 through the API, on a kernel that balances: observed by clients, real servers and on the wire. */

const TIMES = 120
const TOLERANCE = 0.03 * TIMES

t.setTimeout(1_200_000)

t.test('Layer 4 on a real kernel', { skip: guestObstacle() ?? false }, async (t) => {
  const appliance = await startLayer4(t)
  const { guest, api, output, journal, node, soon, lab, send, apply, table, rip, changeRip, serve, counted } = appliance

  for (const family of [4, 6] as const) {
    for (const forwarding of ['masq', 'gate', 'ipip'] as const) {
      await t.test(`${forwarding} over IPv${family}, TCP and UDP`, async (t) => {
        const { gone } = await serve({ forwarding }, {}, family)
        const seenAs = forwarding === 'masq' ? serverIp('rs1', family) : VIP[family]
        const tunnelled = family === 4 ? 'ip proto 4' : 'ip6 proto 41'
        const direct = await lab.capture(
          'rs1',
          'eth0',
          forwarding === 'ipip' ? tunnelled : `tcp and dst host ${seenAs}`,
        )
        const replies = await lab.capture('', 'brs', `tcp and src port 80`)
        const answers = await lab.answers('cli1', 6, VIP[family], 80)
        t.strictSame(
          answers,
          Object.fromEntries(
            SERVERS.map((name) => {
              const own = forwarding === 'masq' ? serverIp(name, family) : VIP[family]
              return [`${name} ${clientIp('cli1', family)} ${own} 80`, 2]
            }),
          ),
          await table(),
        )
        t.ok((await direct()).length > 0, 'packets on the wire of a real server')
        t.equal((await replies()).length > 0, forwarding === 'masq', 'replies pass the director with translation only')
        await gone()
        const dns = await serve(
          { forwarding, ports: '53', protocol: 'udp' },
          { reals: [{ ripId: rip('rs2', family), port: 53 }] },
          family,
        )
        const [answer] = Object.keys(await lab.answers('cli1', 1, VIP[family], 53, 'udp'))
        t.match(answer, `rs2 ${clientIp('cli1', family)} `)
        await dns.gone()
      })
    }
  }

  await t.test('a range of ports is one service with its mark', async (t) => {
    const ripId = await api.create('/ipvsDirector/rips', { name: 'any port', ip: serverIp('rs1'), port: null })
    for (const forwarding of ['gate', 'masq'] as const) {
      const { gone } = await serve({ ports: '8000-8002', forwarding }, { reals: [{ ripId }] })
      t.match(await table(), /^FWM/m)
      for (const port of [8000, 8001, 8002]) {
        const own = forwarding === 'gate' ? VIP[4] : serverIp('rs1')
        t.strictSame(await lab.answers('cli1', 1, VIP[4], port), { [`rs1 ${clientIp('cli1')} ${own} ${port}`]: 1 })
      }
      await gone()
    }
  })

  await t.test('weights: the share of each real server', async (t) => {
    for (const weights of [
      [3, 1, 0],
      [1, 1, 2],
    ]) {
      const reals = SERVERS.map((name, at) => ({ ripId: rip(name), weight: weights[at] ?? 0 })).filter(
        ({ weight }) => weight > 0,
      )
      const { gone } = await serve({}, { scheduler: 'wrr', reals })
      const shares = await lab.shares('cli1', TIMES, VIP[4], 80)
      const sum = weights.reduce((all, one) => all + one, 0)
      for (const [at, name] of SERVERS.entries()) {
        const wanted = (TIMES * (weights[at] ?? 0)) / sum
        t.ok(Math.abs((shares[name] ?? 0) - wanted) <= TOLERANCE, `${name}: ${shares[name] ?? 0} of ${wanted}`)
      }
      await gone()
    }
  })

  await t.test('drain keeps connections and accepts no new ones; halt takes the server out', async (t) => {
    const { gone } = await serve({})
    const held = await lab.hold('cli1', VIP[4], 80)
    await changeRip(held.server, 'drain')
    await apply()
    await held.isAlive()
    t.notOk((await lab.shares('cli2', 12, VIP[4], 80))[held.server], 'no new connection')
    await held.isAlive()
    await changeRip(held.server, 'halt')
    await apply()
    await soon('the server out of the table', async () => !(await table()).includes(`10.9.0.2${held.server.slice(2)}`))
    await changeRip(held.server, 'online')
    await apply()
    await soon('new connections', async () => ((await lab.shares('cli2', 6, VIP[4], 80))[held.server] ?? 0) > 0)
    await held.end()
    await gone()
  })

  await t.test('a drained server costs no client of a scheduler by hash its connection', async (t) => {
    for (const scheduler of ['sh', 'mh'] as const) {
      const { gone } = await serve({}, { scheduler })
      const [first = ''] = Object.keys(await lab.shares('cli1', 1, VIP[4], 80))
      await changeRip(first, 'drain')
      await apply()
      const shares = await lab.shares('cli1', 3, VIP[4], 80)
      t.match(Object.keys(shares), [/^rs\d$/], scheduler)
      t.notOk(shares[first], 'another server')
      await changeRip(first, 'online')
      await gone()
    }
    await apply()
  })

  await t.test('a firewall that is loaded again takes no marks away', async (t) => {
    const { gone } = await serve({}, { persistTimeout: 300 })
    for (const verb of ['restart', 'reload', 'stop', 'start']) {
      await guest.run('systemctl', verb, 'nftables')
      t.match(Object.keys(await lab.shares('cli1', 2, VIP[4], 80)), [/^rs\d$/], verb)
    }
    await gone()
  })

  await t.test('persistence, and one deleted entry of the stick table', async (t) => {
    const { id, gone } = await serve({}, { persistTimeout: 300 })
    const first = new Map<string, string>()
    for (const client of CLIENTS) {
      const shares = await lab.shares(client, 4, VIP[4], 80)
      t.equal(Object.keys(shares).length, 1, `${client} stays: ${JSON.stringify(shares)}`)
      first.set(client, Object.keys(shares)[0] ?? '')
    }
    const held = await lab.hold('cli1', VIP[4], 80)
    const entries = async () => {
      const data = await send('GET', `/ipvsDirector/sticktable/${id}`)
      return (data as { elements: readonly { key: string; clientIp: string; mark: number }[] }).elements
    }
    const entryOf = async (client: (typeof CLIENTS)[number]) =>
      (await entries()).find((entry) => entry.clientIp === clientIp(client))
    t.strictSame(
      (await entries()).map((entry) => entry.clientIp).toSorted(),
      CLIENTS.map((client) => clientIp(client)),
    )
    const old = await entryOf('cli1')
    await send('DELETE', `/ipvsDirector/sticktable/${id}/${encodeURIComponent(old?.key ?? '')}`)
    t.equal(await entryOf('cli1'), undefined, 'the entry is gone')
    const servers = Object.keys(await lab.shares('cli1', 4, VIP[4], 80))
    t.match(servers, [/^rs\d$/], 'stays again')
    const fresh = await entryOf('cli1')
    t.ok(fresh !== undefined && fresh.mark !== old?.mark, 'chosen by the scheduler of another service')
    await held.isAlive()
    for (const client of ['cli2', 'cli3'] as const) {
      const before = first.get(client) ?? ''
      t.strictSame(Object.keys(await lab.shares(client, 2, VIP[4], 80)), [before], 'others keep theirs')
    }
    await held.end()
    await gone()
    const masked = await serve({}, { persistTimeout: 300, persistMask: '255.255.255.0' })
    const all = new Set<string>()
    for (const client of CLIENTS) Object.keys(await lab.shares(client, 2, VIP[4], 80)).forEach((name) => all.add(name))
    t.equal(all.size, 1, 'clients that are equal under the mask share one real server')
    await masked.gone()
  })

  await t.test('counters match the wire', async (t) => {
    for (const forwarding of ['masq', 'gate'] as const) {
      const { id, gone } = await serve({ forwarding })
      const before = await counted(id)
      const inbound = await lab.capture('', 'brc', `tcp and dst host ${VIP[4]}`)
      const outbound = await lab.capture('', 'brc', `tcp and src host ${VIP[4]}`)
      await lab.shares('cli1', 30, VIP[4], 80)
      const after = await counted(id)
      const lengths = async (end: () => Promise<readonly string[]>) => {
        const all = (await end()).map((packet) => Number(/length (\d+)\)/.exec(packet)?.[1] ?? 0))
        return [all.length, all.reduce((sum, length) => sum + length, 0)]
      }
      const since = (...names: readonly string[]) => names.map((name) => after(name, before))
      t.strictSame(since('connections'), [30])
      t.strictSame(since('packetsIn', 'bytesIn'), await lengths(inbound))
      const replies = await lengths(outbound)
      t.strictSame(since('packetsOut', 'bytesOut'), forwarding === 'masq' ? replies : [null, null])
      await gone()
    }
  })

  await t.test('a server that fails is removed, comes back, and the fallback stands in', async () => {
    const script = `#!/bin/bash\nexec 3<>"/dev/tcp/$3/${HEALTH_PORT}" || exit 1\nprintf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3\nread -r _ status _ <&3\n[ "$status" = 200 ]\n`
    const own = await api.create('/healthchecks', { name: 'own', description: '', script, services: ['layer-4'] })
    const fallback = { ip: serverIp('rs3'), port: 80 }
    const pace = { interval: 1, rise: 1, fall: 2 }
    const checks = [
      { type: 'tcp', ...pace },
      { type: 'http', path: '/health', expect: '200', ...pace },
      { type: 'script', id: own, ...pace },
    ]
    // On an emulator a check that was delayed may take the server out once more.
    const servedBy = (name: string) =>
      soon(`${name} to serve`, async () => (await lab.shares('cli1', 2, VIP[4], 80))[name] === 2)
    for (const healthCheck of checks) {
      const port = healthCheck.type === 'http' ? HEALTH_PORT : 80
      const reals = [{ ripId: rip('rs1'), port }]
      const { gone } = await serve({ ports: `${port}` }, { healthCheck, reals, fallback })
      const has = async (name: 'rs1' | 'rs3') => (await table()).includes(`> ${serverIp(name)}:`)
      await soon('the server up', async () => (await has('rs1')) && !(await has('rs3')))
      await (healthCheck.type === 'tcp' ? lab.stop('rs1') : lab.setSick('rs1', true))
      await soon(`the server down by ${healthCheck.type}`, async () => !(await has('rs1')) && has('rs3'))
      if (port === 80) await servedBy('rs3')
      await (healthCheck.type === 'tcp' ? lab.start('rs1') : lab.setSick('rs1', false))
      await soon('the server back', async () => (await has('rs1')) && !(await has('rs3')))
      if (port === 80) await servedBy('rs1')
      await gone()
    }
  })

  await t.test('reloads under traffic lose nothing', async (t) => {
    const { id, backendId, gone } = await serve({})
    const before = await counted(id)
    /** The kernel's own counters, read with its own program. */
    const kernelCounted = async () =>
      Number(/^TCP +\S+:80 +(\d+)/m.exec(await output('ipvsadm', '-Ln', '--stats', '--exact'))?.[1])
    const begunAgain = async () =>
      (await Promise.all(CLIENTS.map((client) => lab.begunAgain(client)))).reduce((sum, count) => sum + count, 0)
    const [kernelBefore, againBefore] = [await kernelCounted(), await begunAgain()]
    const held = await lab.hold('cli3', VIP[4], 80)
    const load = CLIENTS.slice(0, 2).map((client) => lab.shares(client, 400, VIP[4], 80))
    const leaving = SERVERS.find((name) => name !== held.server) ?? 'rs3'
    // A server that is removed loses its connections: without loss it has to be drained first.
    const drained = async () => {
      await changeRip(leaving, 'drain')
      await apply()
      await soon(`${leaving} idle`, async () =>
        new RegExp(`> ${serverIp(leaving)}:80 +Masq +0 +0 `).test(await table()),
      )
    }
    for (let round = 0; round < 10; round++) {
      const stays = round % 2 === 1
      if (stays) await changeRip(leaving, 'online')
      else await drained()
      // Another scheduler would leave the service without one for a moment: that is the kernel's way.
      const reals = SERVERS.filter((name) => stays || name !== leaving).map((name, at) => ({
        ripId: rip(name),
        weight: 1 + ((round + at) % 3),
      }))
      await send('PUT', `/ipvsDirector/backends/${backendId}`, { reals })
      await apply()
    }
    for (const shares of await Promise.all(load)) {
      t.notOk(
        Object.keys(shares).some((name) => !name.startsWith('rs')),
        JSON.stringify(shares),
      )
    }
    const connections = (await counted(id))('connections', before) ?? 0
    t.equal(connections, (await kernelCounted()) - kernelBefore)
    // A repeated attempt for a server that is drained by then goes to another one, and counts once more.
    const again = (await begunAgain()) - againBefore
    t.ok(connections >= 801 && connections <= 801 + again, `${connections} connections, ${again} attempts repeated`)
    await held.end()
    await gone()
  })

  await t.test('an idle connection ends by the timeout of connection tracking', async (t) => {
    const { gone } = await serve({})
    await send('PUT', `/${node}/system/conntrack`, {
      size: 100_000,
      tcpTimeout: '3',
      tcpFinTimeout: '2',
      udpTimeout: '4',
    })
    await apply()
    t.match(await output('ipvsadm', '-L', '--timeout'), /: 3 2 4/)
    const held = await lab.hold('cli1', VIP[4], 80, 0)
    await soon('no entry', async () => !(await output('ipvsadm', '-Lcn')).includes('ESTABLISHED'))
    await held.end()
    await gone()
  })

  await t.test('without keepalived nothing maintains the table, and that is reported', async (t) => {
    const { gone } = await serve({})
    const told = async () => {
      const { attention } = (await send('GET', '/overview')) as { readonly attention: readonly Attention[] }
      return attention.flatMap(({ kind, message }) => (kind === 'layer4' ? [message] : []))
    }
    t.same(await told(), [])
    await guest.run('systemctl', 'stop', 'keepalived')
    await soon('word of it', async () => /keepalived does not run/.test(String(await told())))
    await guest.run('systemctl', 'start', 'keepalived')
    await soon('an end of it', async () => (await told()).length === 0)
    await gone()
  })

  await t.test('keepalived that was found disabled or stopped is so again', async (t) => {
    await apply()
    const [enabled, active] = ['is-enabled', 'is-active'].map(
      (verb) => async () => (await guest.run('systemctl', verb, 'keepalived')).stdout.trim(),
    )
    for (const verb of ['disable', 'enable'] as const) {
      await guest.run('systemctl', verb, 'keepalived')
      await guest.run('systemctl', 'stop', 'keepalived')
      const { gone } = await serve({})
      t.equal(Object.keys(await lab.answers('cli1', 6, VIP[4], 80)).length, SERVERS.length)
      t.same([await enabled?.(), await active?.()], ['enabled', 'active'])
      await gone()
      await apply()
      t.same([await enabled?.(), await active?.()], [`${verb}d`, 'inactive'])
    }
  })
  t.notMatch(await journal(), /unhandled/i)
  t.equal((await guest.run('systemctl', 'is-active', 'fulcrum')).exitCode, 0)
})
