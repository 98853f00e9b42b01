/**
 * The arguments of etcd, as an environment file of systemd, whose unit starts etcd with the variable split at spaces.
 * No argument contains a space.
 */

/** Folder for a node's data about its cluster. */
export const clusterFolder = (stateFolder: string): string => `${stateFolder}/cluster`
/** Name of the file in that folder. */
export const ETCD_FILE = 'etcd.env'
const NAME = 'ETCD_ARGUMENTS='

export const etcdFile = (args: readonly string[]): string => `${NAME}${args.join(' ')}\n`

export const etcdArguments = (text: string): readonly string[] => text.replace(NAME, '').trim().split(' ')

/** As in the unit of etcd: memory is collected after growing by this percentage. The default is 100. */
export const ETCD_ENVIRONMENT = { GOGC: '40' } as const
