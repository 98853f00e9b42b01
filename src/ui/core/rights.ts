import { effect, signal } from '@preact/signals'
import { changes, refused } from './api.ts'
import { account, reloadAccount, state } from './session.ts'

/** The rights of the user, according to the daemon; requested again when they may have changed. */

/** Method and path of an endpoint, as `GET /rbac/endpoints` lists them, for example `PUT /services/apply`. */
export type Right = `${'GET' | 'POST' | 'PUT' | 'DELETE'} /${string}`

/** Ids of endpoints are name-based (RFC 9562, version 5) in this namespace. */
const NAMESPACE = Uint8Array.from([
  0x6f, 0x1c, 0x4f, 0x0a, 0x3d, 0x5e, 0x4b, 0x7a, 0x9c, 0x2d, 0x8e, 0x1f, 0x0a, 0x5b, 0x6c, 0x7d,
])
const LOOK_MS = 30_000

export async function endpointIdOf(right: Right): Promise<string> {
  const hashed = await crypto.subtle.digest('SHA-1', Uint8Array.of(...NAMESPACE, ...new TextEncoder().encode(right)))
  const bytes = new Uint8Array(hashed, 0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x50
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return [...bytes]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Undefined while an id is being computed, which takes less than a frame. */
const ids = new Map<string, string | undefined>()
let waiting = 0
/** Rises when all requested ids are computed, so that components are redrawn once and not for each id. */
const worked = signal(0)

function idOf(right: Right): string | undefined {
  if (!ids.has(right)) {
    ids.set(right, undefined)
    waiting += 1
    void endpointIdOf(right).then((id) => {
      ids.set(right, id)
      waiting -= 1
      if (waiting === 0) worked.value += 1
    })
  }
  return worked.value >= 0 ? ids.get(right) : undefined
}

const granted = signal<ReadonlySet<string>>(new Set())

/** Returns whether one of the rights is granted. A right to some records counts too: the API decides which. */
export const may = (...rights: readonly Right[]): boolean =>
  rights.some((right) => granted.value.has(idOf(right) ?? ''))
/** Returns whether an operation is granted, by its id in the document of the API. */
export const mayById = (id: string): boolean => granted.value.has(id)

/** Counts changes of the rights while the page is open. */
export const rightsChanged = signal(0)

let before: string | undefined
effect(() => {
  const own = account.value
  const now = own === undefined ? undefined : `${own.id} ${own.endpoints.join()}`
  if (now === before) return
  const isOther = before !== undefined && before.split(' ')[0] === own?.id
  before = now
  granted.value = new Set(own?.endpoints)
  if (isOther) rightsChanged.value = rightsChanged.peek() + 1
})

effect(() => {
  if (rightsChanged.value > 0) changes.value = changes.peek() + 1
})

let asked = 0
effect(() => {
  if (state.value !== 'in') return undefined
  // Rights change with an apply, which counts as a change, or with a group, which shows in a refused request.
  const now = changes.value + refused.value
  const look = () => void reloadAccount().catch(() => undefined)
  if (now !== asked) look()
  asked = now
  const timer = setInterval(look, LOOK_MS)
  return () => clearInterval(timer)
})
