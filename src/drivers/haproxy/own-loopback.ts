import type { L7Frontend } from '../../model/layer7.ts'
import type { Problem } from '../../model/problem.ts'
import type { ConfigView, SectionName, SectionRecords } from '../../model/sections.ts'
import type { Driver } from '../driver.ts'
import { servedFrontends } from './resting.ts'

/** Addresses that every node has, on whatever machine. */
const OF_EACH: ReadonlySet<string> = new Set(['127.0.0.1', '0.0.0.0'])

/**
 * For nodes of one cluster on the same machine: their HAProxys have the same frontends and would all listen on the same
 * address, where the kernel gives a connection to any of them. So each node uses its own loopback address in place of
 * 127.0.0.1 and of all addresses, and serves no others.
 */
export function onOwnLoopback(driver: Driver, loopback: string): Driver {
  const moved = movedTo(loopback)
  return {
    ...driver,
    prepare: (view) => driver.prepare(moved(view)),
    verify: (desired) => [...strangers(desired), ...driver.verify(moved(desired))],
    plan: (running, desired, options) =>
      driver.plan(running === undefined ? undefined : moved(running), moved(desired), options),
    effectOf: (change, running, desired) => driver.effectOf(change, moved(running), moved(desired)),
    render: (desired) => driver.render(moved(desired)),
    diagnose: (output, desired) => driver.diagnose(output, moved(desired)),
  }
}

function movedTo(loopback: string): (view: ConfigView) => ConfigView {
  const own = (frontend: L7Frontend): L7Frontend =>
    OF_EACH.has(frontend.ip) ? { ...frontend, ip: loopback } : frontend
  const record = <N extends SectionName>(section: N, found: SectionRecords[N]): SectionRecords[N] =>
    // Sound: a record of this section is a frontend, before and after.
    section === 'l7Frontends' ? (own(found as L7Frontend) as SectionRecords[N]) : found
  return (view) => ({
    get(section, id) {
      const found = view.get(section, id)
      return found === undefined ? undefined : record(section, found)
    },
    list: (section) =>
      section === 'l7Frontends' ? [...view.list(section)].map((found) => record(section, found)) : view.list(section),
  })
}

function strangers(desired: ConfigView): readonly Problem[] {
  return servedFrontends(desired)
    .filter(({ enabled, ip }) => enabled && !OF_EACH.has(ip))
    .map(({ id, name, ip }) => ({
      section: 'l7Frontends',
      id,
      field: 'ip',
      message: `Frontend ${name} cannot listen on ${ip} while the nodes share one machine: use 127.0.0.1, for which each node has an address of its own`,
    }))
}
