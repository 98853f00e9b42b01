import type { Network, Site, SiteNode } from './site.ts'

/** A fault of a node. Each returns a function that ends it. */
export interface Fault {
  readonly title: string
  /** The longest time without an answer. 0: no interruption is allowed; undefined: nothing is promised. */
  readonly goal_ms: number | undefined
  /** Nodes that cannot hear each other may both have an address. */
  readonly cutsService?: true
  readonly strike: (node: SiteNode, site: Site) => Promise<() => Promise<unknown>>
}

type Strike = Fault['strike']

/** systemd restarts it. */
const kills =
  (...units: readonly string[]): Strike =>
  async (node) => {
    await Promise.all(units.map((unit) => node.signal(unit, 'KILL')))
    return async () => undefined
  }

const stops =
  (unit: string): Strike =>
  async (node) => {
    await node.signal(unit, 'STOP')
    return () => node.signal(unit, 'CONT')
  }

const cuts =
  (...networks: readonly Network[]): Strike =>
  async (node) => {
    await Promise.all(networks.map((network) => node.cut(network)))
    return () => Promise.all(networks.map((network) => node.heal(network)))
  }

const [DAEMON, HAPROXY, KEEPALIVED, ETCD] = ['fulcrum', 'haproxy', 'fulcrum-vrrp', 'fulcrum-etcd'] as const

export const FAULTS: readonly Fault[] = [
  { title: 'nothing', goal_ms: 0, strike: async () => async () => undefined },
  { title: 'daemon killed', goal_ms: 0, strike: kills(DAEMON) },
  { title: 'daemon stopped', goal_ms: 0, strike: stops(DAEMON) },
  { title: 'etcd killed', goal_ms: 0, strike: kills(ETCD) },
  { title: 'etcd stopped', goal_ms: 0, strike: stops(ETCD) },
  { title: 'daemon and etcd killed', goal_ms: 0, strike: kills(DAEMON, ETCD) },
  { title: 'cluster network cut', goal_ms: 0, strike: cuts('cluster') },
  {
    title: 'disk full',
    goal_ms: 0,
    strike: async (node) => {
      await node.fillDisk()
      return () => node.emptyDisk()
    },
  },
  { title: 'HAProxy killed', goal_ms: 1_000, strike: kills(HAPROXY) },
  {
    title: 'HAProxy killed while the daemon is stopped',
    goal_ms: 3_000,
    strike: async (node) => {
      await node.signal(DAEMON, 'STOP')
      await node.signal(HAPROXY, 'KILL')
      return () => node.signal(DAEMON, 'CONT')
    },
  },
  { title: 'HAProxy stopped', goal_ms: undefined, strike: stops(HAPROXY) },
  { title: 'keepalived killed', goal_ms: 1_000, strike: kills(KEEPALIVED) },
  { title: 'service network cut', goal_ms: 1_000, cutsService: true, strike: cuts('service') },
  {
    title: 'cable of the service network pulled',
    goal_ms: 600,
    cutsService: true,
    strike: async (node) => {
      await node.link('down')
      return () => node.link('up')
    },
  },
  { title: 'both networks cut', goal_ms: 1_000, cutsService: true, strike: cuts('service', 'cluster') },
  {
    title: 'everything killed, both networks cut',
    goal_ms: 1_000,
    cutsService: true,
    strike: async (node, site) => {
      const mend = await cuts('service', 'cluster')(node, site)
      await kills(DAEMON, HAPROXY, KEEPALIVED, ETCD)(node, site)
      return mend
    },
  },
]

/** Requested from any node while all are well. */
export const MOVE = { title: 'planned move', goal_ms: 300 } as const
