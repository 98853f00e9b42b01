import type { Sharing } from './sharing.ts'

/** Where HAProxy's program and files are. Everything the driver knows of the machine. */
export interface HaproxyPaths {
  /** Program, found in the usual system folders when it has no slash. */
  readonly program: string
  readonly configFile: string
  readonly masterSocket: string
  readonly statsSocket: string
  /** Stick tables pass from the old to the new worker through this socket. */
  readonly peersSocket: string
  /** Where the daemon answers validations of CAs. */
  readonly challengeSocket: string
  /** What a new worker is told of servers that are down or have names. */
  readonly stateFile: string
  /** Where the first configuration goes that somebody else wrote; undefined where there can be none. */
  readonly foundCopy: string | undefined
  /** Account the workers switch to; undefined keeps the account that starts HAProxy. */
  readonly runAs: { readonly user: string; readonly group: string } | undefined
  /** The name servers, as HAProxy reads them; undefined if there are none. */
  readonly nameServers?: readonly string[] | undefined
  /** With other nodes; undefined on a node without a cluster. */
  readonly sharing?: Sharing | undefined
}

/** Places of ours that haproxy.cfg names. */
export interface Folders {
  readonly certificates: string
  readonly maps: string
  /** Folder of sockets that HAProxy makes for itself. */
  readonly sockets: string
  /** See `HaproxyPaths`. */
  readonly challenges: string
  /** Account that the workers switch to, where they do. */
  readonly account: string | undefined
}

/** A socket name holds 107 bytes in Linux, of which HAProxy needs some for the suffixes of its temporary names. */
export const SOCKET_PATH_MAX = 92

/** Name of the state file in the folder of a supervised HAProxy. */
export const STATE_FILE = 'server-state'

/** Everything in one folder of ours: HAProxy is started and watched by the daemon. */
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

/** Debian's haproxy.service. `stateFolder` is the daemon's own. */
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
