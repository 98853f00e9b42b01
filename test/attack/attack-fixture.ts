import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Endpoint } from '../../src/api/endpoint.ts'
import { endpoints as table } from '../../src/resources/index.ts'
import type { Caller } from '../fixtures/appliance.ts'

/** Endpoints with a path. */
export const endpoints: readonly Endpoint[] = table.filter((endpoint) => !endpoint.permissionOnly)

/** Returns a path with a value for every parameter. */
export function concrete(path: string, node: string, value = 'unknown-1'): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => (/^applianceI[dD]$/.test(name) ? node : value))
}

export const PASSWORD = 'a long enough password'

/** Creates a user who counts after an apply; returns the id. */
export async function createUser(call: Caller, email: string, roles: readonly string[] = []): Promise<string> {
  const body = { email, firstname: 'A', lastname: 'B', password: PASSWORD, disabled: 'false', roles }
  const answer = await call('POST', '/localUsers/users', { body })
  if (answer.status !== 201) throw new Error(`no user was made: ${answer.text}`)
  return String(answer.json.data.id)
}

/** Returns the ids of the default roles by name. */
export async function roleIds(call: Caller): Promise<Readonly<Record<string, string>>> {
  const { json } = await call('GET', '/rbac/roles')
  const roles: readonly { readonly id: string; readonly name: string }[] = json.data
  return Object.fromEntries(roles.map(({ id, name }) => [name, id]))
}

/** Returns the signing key of the daemon, as a thief of the state folder would have it. */
export function daemonKey(state: string): { readonly pem: string; readonly key: KeyObject; readonly open: KeyObject } {
  const pem = readFileSync(join(state, 'token-key.pem'), 'utf8')
  const key = createPrivateKey(pem)
  return { pem, key, open: createPublicKey(key) }
}

export const base64url = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/** Returns header and claims of a token. */
export function parts(token: string): {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
} {
  const [header, claims] = token
    .split('.', 2)
    .map((part): Record<string, unknown> => JSON.parse(Buffer.from(part, 'base64url').toString()))
  if (header === undefined || claims === undefined) throw new Error('this is no token')
  return { header, claims }
}

/** Returns the middle value. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
