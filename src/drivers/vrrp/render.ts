import { grouped } from '../../base/grouped.ts'
import { ADVERT_INTERVAL_S } from '../../model/network.ts'
import { interfacePlace } from '../interface-names.ts'
import { ROUTER_ID } from '../router-id.ts'
import type { Instance } from './instances.ts'
import { ALIVE_PROGRAM, PID_FILES, READY, STATES_FOLDER } from './paths.ts'

/** Programs without which this node cannot serve. */
export type Server = keyof typeof PID_FILES

/** How long a node of higher precedence waits before it takes addresses back. */
const PREEMPT_DELAY_S = 60
/** TTL of packets that no router has forwarded. */
const TTL = 255

/**
 * Renders a whole configuration of keepalived, one statement per line. Names are ids, so nothing that a person typed is
 * syntax.
 */
export function renderVrrp(instances: readonly Instance[], servers: readonly Server[]): string {
  const bySyncGroup = grouped(instances, ({ syncGroup }) => syncGroup)
  const lines = [
    '# Written by Fulcrum from its configuration. Changes made here are lost at the next apply.',
    ...block('global_defs', [...GLOBAL, `vrrp_garp_master_refresh ${refresh_s(instances)}`]),
    ...fileBlock(READY, 1),
    ...[...bySyncGroup.keys()].flatMap((name) => fileBlock(name, 0)),
    ...(servers.length === 0 ? [] : aliveBlock(servers)),
    // keepalived refuses a group with one member, which then tracks for itself.
    ...[...bySyncGroup].flatMap(([name, members]) => (members.length === 1 ? [] : syncBlock(name, members, servers))),
    ...[...bySyncGroup.values()].flatMap((members) => {
      const preempts = members.some(({ group }) => group.preempt === true)
      return members.flatMap((instance) =>
        instanceBlock(instance, preempts, members.length === 1 ? tracking(instance.syncGroup, servers) : []),
      )
    }),
  ]
  return `${lines.join('\n')}\n`
}

const GLOBAL = [
  ROUTER_ID,
  'vrrp_version 3',
  'enable_script_security',
  'script_user root root',
  // A missing or recreated card is a fault of this node, not of the file.
  'dynamic_interfaces',
  // While an apply goes from node to node, nodes have different addresses and must still accept each other's
  // advertisements.
  'vrrp_skip_check_adv_addr',
  // Makes neighbours learn at once which node has an address.
  'vrrp_garp_master_delay 1',
  'vrrp_garp_master_repeat 3',
  // If two nodes held an address while they could not hear each other, the one that keeps it announces it again.
  'vrrp_higher_prio_send_advert',
] as const

/** Maximum number of addresses that a node announces per second, besides those of a takeover. */
const TOLD_MAX = 20

/** Seconds within which a neighbour that missed a move, or last heard from the former holder, learns the new one. */
const refresh_s = (instances: readonly Instance[]): number =>
  Math.max(1, Math.ceil(instances.flatMap(({ addresses }) => addresses).length / TOLD_MAX))

const block = (head: string, lines: readonly string[]): readonly string[] => [
  `${head} {`,
  ...lines.map((line) => `    ${line}`),
  '}',
]

/** A value other than 0 is a fault. keepalived creates a missing file, as after a boot, with `first`. */
const fileBlock = (name: string, first: 0 | 1): readonly string[] =>
  block(`track_file ${name}`, [`file "${STATES_FOLDER}/${name}"`, 'weight 0', `init_file ${first}`])

/** Two failures are needed, because a program that restarts is away for a moment. */
const aliveBlock = (servers: readonly Server[]): readonly string[] =>
  block('vrrp_script alive', [
    // Started through its shell: keepalived refuses a program that does not exist yet, which is the case when this file
    // is checked.
    `script "${['/bin/sh', ALIVE_PROGRAM, ...servers.map((server) => `${server}:${PID_FILES[server]}`)].join(' ')}"`,
    'interval 1',
    'timeout 2',
    'fall 2',
    'rise 1',
  ])

function syncBlock(name: string, members: readonly Instance[], servers: readonly Server[]): readonly string[] {
  return block(`vrrp_sync_group ${name}`, [
    ...block(
      'group',
      members.map((member) => member.name),
    ),
    ...tracking(name, servers),
  ])
}

const tracking = (syncGroup: string, servers: readonly Server[]): readonly string[] => [
  ...block('track_file', [READY, syncGroup]),
  ...(servers.length === 0 ? [] : block('track_script', ['alive'])),
]

function instanceBlock(instance: Instance, preempts: boolean, tracked: readonly string[]): readonly string[] {
  const { name, group, vrrpId, interfaceId, own, others, priority, addresses } = instance
  const link = interfacePlace(interfaceId)
  const placed = ({ ip, prefix }: Instance['addresses'][number]): string => `${ip}/${prefix} dev ${link}`
  return block(`vrrp_instance ${name}`, [
    'state BACKUP',
    preempts ? `preempt_delay ${PREEMPT_DELAY_S}` : 'nopreempt',
    `interface ${link}`,
    `virtual_router_id ${vrrpId}`,
    `priority ${priority}`,
    `advert_int ${(group.advertInterval ?? ADVERT_INTERVAL_S).toFixed(2)}`,
    `unicast_src_ip ${own.ip}`,
    `unicast_ttl ${TTL}`,
    ...tracked,
    ...block(
      'unicast_peer',
      others.map(({ ip }) => `${ip} min_ttl ${TTL} max_ttl ${TTL}`),
    ),
    // Only the first address is advertised: keepalived needs one, and rejects a list that differs from its own.
    ...block('virtual_ipaddress', addresses.slice(0, 1).map(placed)),
    ...(addresses.length === 1 ? [] : block('virtual_ipaddress_excluded', addresses.slice(1).map(placed))),
  ])
}

/** For `ip -force -batch`, which continues if an address is missing. */
export function renderRelease(instances: readonly Instance[]): string {
  return instances
    .flatMap(({ interfaceId, addresses }) =>
      addresses.map(({ ip, prefix }) => `address delete ${ip}/${prefix} dev ${interfacePlace(interfaceId)}\n`),
    )
    .join('')
}

/** Starts no other program, because it runs each second. A killed process that was not waited for yet is a zombie. */
export const ALIVE_TEXT = `#!/bin/sh
# Written by Fulcrum. Succeeds when every NAME:PIDFILE is a process of that name that has not ended.
for each; do
  read -r pid <"\${each#*:}" || exit 1
  read -r stat <"/proc/$pid/stat" || exit 1
  case $stat in
    "$pid (\${each%%:*}) Z"*) exit 1 ;;
    "$pid (\${each%%:*}) "*) ;;
    *) exit 1 ;;
  esac
done
`
