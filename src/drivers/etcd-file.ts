/**
 * What etcd is started with, as a file: an environment file of systemd, whose unit starts etcd with the variable split
 * at spaces. No argument has one.
 */

/** The folder of what a node stores about its cluster. */
export const clusterFolder = (stateFolder: string): string => `${stateFolder}/cluster`
/** In that folder. */
export const ETCD_FILE = 'etcd.env'
const NAME = 'ETCD_ARGUMENTS='

export const etcdFile = (args: readonly string[]): string => `${NAME}${args.join(' ')}\n`

export const etcdArguments = (text: string): readonly string[] => text.replace(NAME, '').trim().split(' ')

/** What its unit sets as well: memory is collected when it has grown by so many percent. By itself it waits for 100. */
export const ETCD_ENVIRONMENT = { GOGC: '40' } as const
