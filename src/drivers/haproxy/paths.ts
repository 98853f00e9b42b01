import type { Sharing } from './sharing.ts'

/** Locations of HAProxy's program and files: everything that the driver knows of the machine. */
export interface HaproxyPaths {
  /** The program; without a slash it is searched in the usual system folders. */
  readonly program: string
  readonly configFile: string
  readonly masterSocket: string
  readonly statsSocket: string
  /** Socket over which the old worker passes stick tables to the new one. */
  readonly peersSocket: string
  /** Socket on which the daemon answers validations of CAs. */
  readonly challengeSocket: string
  /** State file with which a new worker learns of servers that are down or have names. */
  readonly stateFile: string
  /** Copy of a foreign configuration found at the first apply; undefined where there can be none. */
  readonly foundCopy: string | undefined
  /** Account of the workers; undefined keeps the account that starts HAProxy. */
  readonly runAs: { readonly user: string; readonly group: string } | undefined
  /** The name servers in HAProxy's syntax; undefined if there are none. */
  readonly nameServers?: readonly string[] | undefined
  /** Stick-table sharing with other nodes; undefined without a cluster. */
  readonly sharing?: Sharing | undefined
}

/** Locations that haproxy.cfg names. */
export interface Folders {
  readonly certificates: string
  readonly maps: string
  /** Folder for sockets between HAProxy's own proxies. */
  readonly sockets: string
  /** See `HaproxyPaths`. */
  readonly challenges: string
  /** Account of the workers, if they have one of their own. */
  readonly account: string | undefined
}

/** A socket path has at most 107 bytes in Linux, of which HAProxy needs some for the suffixes of temporary names. */
export const SOCKET_PATH_MAX = 92

/** Name of the state file in the folder of a supervised HAProxy. */
export const STATE_FILE = 'server-state'

/** Paths for a HAProxy that the daemon starts and supervises: everything is in one folder of ours. */
export function supervisedPaths(folder: string): HaproxyPaths {
  return {
    program: 'haproxy',
    configFile: `${folder}/haproxy.cfg`,
    masterSocket: `${folder}/master.sock`,
    statsSocket: `${folder}/stats.sock`,
    peersSocket: `${folder}/peers.sock`,
    challengeSocket: `${folder}/acme.sock`,
    stateFile: `${folder}/${STATE_FILE}`,
    foundCopy: undefined,
    runAs: undefined,
  }
}

/** Paths of Debian's haproxy.service. `stateFolder` is the daemon's own. */
export function debianPaths(stateFolder: string): HaproxyPaths {
  return {
    program: 'haproxy',
    configFile: '/etc/haproxy/haproxy.cfg',
    masterSocket: '/run/haproxy-master.sock',
    statsSocket: '/run/haproxy/admin.sock',
    peersSocket: '/run/haproxy/peers.sock',
    challengeSocket: '/run/fulcrum/acme.sock',
    stateFile: `${stateFolder}/haproxy.${STATE_FILE}`,
    foundCopy: `${stateFolder}/haproxy.cfg.before-fulcrum`,
    runAs: { user: 'haproxy', group: 'haproxy' },
  }
}
