import { nameBasedId } from '../base/ids.ts'
import { SHARED } from '../model/node.ts'
import type { ConfigView } from '../model/sections.ts'
import type { OidcConfig } from '../model/sign-in.ts'
import { comparedName } from './login-name.ts'
import { localUser, type Principal, principalOf } from './principal.ts'

/**
 * The claims of an identity provider about a user without a record here. The user's sessions store them, and the
 * running configuration judges them at each request: rights are never stored.
 */
export interface Introduction {
  readonly email: string
  /** The provider, and the claim with the groups; see `sourceOf`. */
  readonly source: string
  /** The mapped groups at the time of the login, out of the thousands that a token may name. */
  readonly groups: readonly string[]
}

/** Why a user is not admitted, as far as the caller has to know. */
type NotLetIn = 'off' | 'unmapped' | 'disabled' | 'taken'

/** Returns the settings on which the claims depend. If they change, earlier claims are void. */
const sourceOf = ({ issuer, clientId, emailClaim, groupsClaim }: OidcConfig) =>
  JSON.stringify([issuer, clientId, emailClaim, groupsClaim])

/** A user has the same id on every node and at every login: names are unique, and the audit log contains them. */
const idOf = (email: string) => nameBasedId(`OpenID Connect user ${comparedName(email)}`)

/**
 * Plain addresses only (RFC 5322, atoms): a name that resembles another one in a log, through letters of other scripts,
 * is not admitted without a record here.
 */
const PLAIN_EMAIL = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9.-]{1,189}$/

/** Extracts the introduction from the claims of a verified token; undefined if only local users are admitted. */
export function introductionIn(
  claims: Readonly<Record<string, unknown>>,
  email: string,
  config: OidcConfig,
): Introduction | undefined {
  const { groupsClaim = null, groupMappings = [] } = config
  if (groupsClaim === null || !PLAIN_EMAIL.test(email)) return undefined
  const said: unknown = Object.hasOwn(claims, groupsClaim) ? claims[groupsClaim] : undefined
  // Some providers send a single group as a text, which is one name whatever it contains.
  const named = new Set<unknown>(Array.isArray(said) ? said : [said])
  const groups = groupMappings.map(({ group }) => group).filter((group) => named.has(group))
  return { email, source: sourceOf(config), groups }
}

export function isSameIntroduction(a: Introduction | undefined, b: Introduction | undefined): boolean {
  return a?.email === b?.email && a?.source === b?.source && a?.groups.join('\n') === b?.groups.join('\n')
}

/** Returns the principal for a user that the provider has introduced, by the running configuration. */
export function introduced(view: ConfigView, { email, source, groups }: Introduction): Principal | NotLetIn {
  const config = view.get('oidcConfigs', SHARED)
  if (config?.enabled !== true || (config.groupsClaim ?? null) === null || sourceOf(config) !== source) return 'off'
  const { groupMappings = [], denyUnmapped = true } = config
  const other = takenBy(view, email)
  if (other !== undefined) return other
  const mapped = groupMappings.filter(({ group }) => groups.includes(group))
  if (mapped.length === 0 && denyUnmapped) return 'unmapped'
  const roles = [...new Set(mapped.flatMap((mapping) => mapping.roles))]
  return { id: idOf(email), name: email, disabled: false, groups: [], roles }
}

/**
 * Returns whether the name is taken: two users must not share one name in the audit log, and a disabled user stays out.
 */
function takenBy(view: ConfigView, email: string): 'disabled' | 'taken' | undefined {
  const local = localUser(view, email)
  if (local !== undefined) return local.disabled ? 'disabled' : 'taken'
  const wanted = comparedName(email)
  const remote = [...view.list('radiusUsers')].find(({ username }) => comparedName(username) === wanted)
  if (remote?.disabled === true) return 'disabled'
  return remote !== undefined && principalOf(view, remote.id) !== undefined ? 'taken' : undefined
}
