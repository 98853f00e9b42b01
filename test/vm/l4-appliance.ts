import { setTimeout as pause } from 'node:timers/promises'
import type { Test } from 'tap'
import { startApplianceGuest } from './appliance-guest.ts'
import { labPrograms, serverIp, SERVERS, startLab, VIP } from './l4-lab.ts'

/** The kernel sums its counters every two seconds, and the daemon reads them every two. */
const COUNTED_MS = 5_000

/** An appliance that balances between the clients and the real servers of the lab. */
export async function startLayer4(t: Test) {
  const machine = await startApplianceGuest(t, labPrograms)
  const { api, output } = machine
  const lab = await startLab(machine)
  const send = async (method: string, path: string, body?: object) => {
    const { status, text, data } = await api.request(method, path, body)
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`)
    return data
  }
  const apply = () => send('PUT', '/services/apply')
  const table = () => output('ipvsadm', '-Ln')
  const rips: Record<string, string> = {}
  for (const name of SERVERS) {
    for (const family of [4, 6] as const) {
      const body = { name: `${name}-${family}`, ip: serverIp(name, family), port: 80, weight: 1 }
      rips[`${name}-${family}`] = await api.create('/ipvsDirector/rips', body)
    }
  }
  let made = 0
  const rip = (name: string, family = 4) => rips[`${name}-${family}`] ?? ''
  /** Creates and applies a backend and its frontend; `gone` removes both with the next apply. */
  const serve = async (frontend: object, backend: object = {}, family: 4 | 6 = 4) => {
    const reals = SERVERS.map((name) => ({ ripId: rip(name, family) }))
    const quiet = { healthCheck: { type: 'none' }, scheduler: 'rr', reals }
    const backendId = await api.create('/ipvsDirector/backends', { name: `pool ${(made += 1)}`, ...quiet, ...backend })
    const body = { name: `site ${made}`, ip: VIP[family], ports: '80', protocol: 'tcp', forwarding: 'masq', backendId }
    const id = await api.create('/ipvsDirector/frontends', { ...body, ...frontend })
    await apply()
    const gone = async () => {
      await send('DELETE', `/ipvsDirector/frontends/${id}`)
      await send('DELETE', `/ipvsDirector/backends/${backendId}`)
    }
    return { id, backendId, gone }
  }
  const changeRip = (name: string, verb: 'drain' | 'halt' | 'online') =>
    send('PUT', `/ipvsDirector/rips/${rip(name)}/${verb}`)

  /** A service that stays in the kernel's table continues to count, whichever frontend it now belongs to. */
  const counted = async (frontendId: string) => {
    await pause(COUNTED_MS)
    const figures = (await send('GET', `/ipvsDirector/stats/frontends/${frontendId}`)) as Record<string, number | null>
    return (name: string, since?: (name: string) => number | null): number | null => {
      const value = figures[name] ?? null
      return value === null ? null : value - (since?.(name) ?? 0)
    }
  }
  return { ...machine, lab, send, apply, table, rip, changeRip, serve, counted }
}
