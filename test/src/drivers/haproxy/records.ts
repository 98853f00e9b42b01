import type { ConfigView, SectionName, SectionRecords } from '../../../../src/model/sections.ts'
import type { HaproxyPaths } from '../../../../src/drivers/haproxy/paths.ts'

/** The sections that HAProxy cares about. */
export interface Records {
  readonly realServers?: readonly SectionRecords['realServers'][]
  readonly l7Frontends?: readonly SectionRecords['l7Frontends'][]
  readonly l7Backends?: readonly SectionRecords['l7Backends'][]
}

/** A whole configuration from lists of records. */
export function viewOf(records: Records): ConfigView {
  const sections: { readonly [N in SectionName]: ReadonlyMap<string, SectionRecords[N]> } = {
    users: new Map(),
    groups: new Map(),
    roles: new Map(),
    realServers: byId(records.realServers ?? []),
    l7Frontends: byId(records.l7Frontends ?? []),
    l7Backends: byId(records.l7Backends ?? []),
  }
  return {
    get: (section, id) => sections[section].get(id),
    list: (section) => sections[section].values(),
  }
}

function byId<R extends { readonly id: string }>(records: readonly R[]): ReadonlyMap<string, R> {
  return new Map(records.map((record) => [record.id, record]))
}

export const PATHS: HaproxyPaths = {
  program: 'haproxy',
  configFile: '/run/fulcrum/haproxy.cfg',
  masterSocket: '/run/fulcrum/master.sock',
  statsSocket: '/run/fulcrum/stats.sock',
  peersSocket: '/run/fulcrum/peers.sock',
  stateFile: '/run/fulcrum/server-state',
  runAs: undefined,
}
