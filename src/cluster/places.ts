/** Names in etcd. Numbers are padded, so that names sort like the numbers. */

/** The guard: history and number of the last entry. Only a node that has folded that entry can write the next one. */
export const GUARD = '/f/seq'
/** Returns the value of the guard. */
export const markerOf = (history: string, position: number): string => `${history} ${position}`
/** Reads the value of the guard; undefined where there is none. */
export function markedIn(
  marker: Uint8Array | undefined,
): { readonly history: string; readonly last: number } | undefined {
  if (marker === undefined) return undefined
  const [history = '', last] = Buffer.from(marker).toString().split(' ')
  return { history, last: Number(last) }
}

const LOG = '/f/log/'
/** The first name behind those of the log. */
export const LOG_END = '/f/log0'
export const LOG_SPAN = { from: LOG, before: LOG_END } as const

const PART = '/f/part/'

/** The checkpoint from which a node starts when the log does not reach back far enough. */
export const BASE = '/f/base'

/** The name of this role's authority, with its key, from the pair that was made when this key sealed. */
export const authorityName = (role: string, keyId: string): string => `${authoritiesOf(keyId).prefix}${role}`
export const authoritiesOf = (keyId: string) => ({ prefix: `/f/authority/${keyId}/` })

/** The name for which a checkpoint is sealed: an older one does not open in its place. */
export const baseName = (position: number): string => `${BASE}/${padded(position)}`

const KEYS = '/f/key/'
/** The notices of all keys but the first, which each node received when it joined. */
export const KEYS_SPAN = { prefix: KEYS } as const
export const keyName = (keyId: string): string => `${KEYS}${keyId}`

/** Written after an entry, so that every voter has on its disk that the entry is agreed on. */
export const SETTLED = '/f/settled'

/** The node whose etcd member may be away for a moment. */
export const TURN = '/f/turn'

/** The node that works on certificate orders. */
export const ORDERS_TURN = '/f/orders-turn'

export const NUMBER_DIGITS = 12
const PART_DIGITS = 4

export const padded = (number: number, digits = NUMBER_DIGITS): string => String(number).padStart(digits, '0')

export const logName = (position: number): string => `${LOG}${padded(position)}`

/** Returns the position of an entry. @throws {TypeError} when it is not the name of an entry. */
export function positionOf(name: string): number {
  const digits = name.startsWith(LOG) ? name.slice(LOG.length) : ''
  if (!/^\d{12}$/.test(digits)) throw new TypeError('This is not the name of an entry')
  return Number(digits)
}

/** Like `positionOf`, for a key in etcd's form. */
export const positionIn = (key: Uint8Array): number => positionOf(Buffer.from(key).toString())

/**
 * Returns the name of a part of a value that is too large for one name. It begins with the position, so that old parts
 * are deleted in one request.
 */
export const partName = (position: number, id: string, part: number): string =>
  `${PART}${padded(position)}/${id}/${padded(part, PART_DIGITS)}`

export const logUpTo = (position: number) => ({ from: LOG, before: logName(position + 1) })

/** All parts of entries up to this one, including those that lost their race. */
export const partsUpTo = (position: number) => ({
  from: PART,
  before: `${PART}${padded(position + 1)}`,
})

export const partsOf = (position: number, id: string) => ({
  prefix: `${PART}${padded(position)}/${id}/`,
})
