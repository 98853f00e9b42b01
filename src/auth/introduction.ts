import { nameBasedId } from '../base/ids.ts'
import { SHARED } from '../model/node.ts'
import type { ConfigView } from '../model/sections.ts'
import type { OidcConfig } from '../model/sign-in.ts'
import { comparedName } from './login-name.ts'
import { localUser, type Principal, principalOf } from './principal.ts'

/**
 * What an identity provider says about a person who is not a user here. The person's sessions keep it, and the running
 * configuration judges it at each request: rights are never kept.
 */
export interface Introduction {
  readonly email: string
  /** The provider that said it, and the claim in which it was; see `sourceOf`. */
  readonly source: string
  /** The mapped ones at the login, out of the thousands that a token may name. */
  readonly groups: readonly string[]
}

/** Why somebody is not let in, as far as the caller has to know. */
type NotLetIn = 'off' | 'unmapped' | 'disabled' | 'taken'

/** What the word of the provider rests on. Where it changes, whatever was said before says nothing any more. */
const sourceOf = ({ issuer, clientId, emailClaim, groupsClaim }: OidcConfig) =>
  JSON.stringify([issuer, clientId, emailClaim, groupsClaim])

/** The same person has the same id at every node and login: names are unique, and stand in the audit log. */
const idOf = (email: string) => nameBasedId(`OpenID Connect user ${comparedName(email)}`)

/**
 * Plain addresses only (RFC 5322, atoms): a name that looks like somebody else's in a log, through letters of other
 * scripts, is not let in without a record here.
 */
const PLAIN_EMAIL = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@[A-Za-z0-9.-]{1,189}$/

/** Made of the claims of a token that is believed; undefined where only local users are let in. */
export function introductionIn(
  claims: Readonly<Record<string, unknown>>,
  email: string,
  config: OidcConfig,
): Introduction | undefined {
  const { groupsClaim = null, groupMappings = [] } = config
  if (groupsClaim === null || !PLAIN_EMAIL.test(email)) return undefined
  const said: unknown = Object.hasOwn(claims, groupsClaim) ? claims[groupsClaim] : undefined
  // Some providers write the only group as a text. It is one name, whatever is in it.
  const named = new Set<unknown>(Array.isArray(said) ? said : [said])
  const groups = groupMappings.map(({ group }) => group).filter((group) => named.has(group))
  return { email, source: sourceOf(config), groups }
}

export function isSameIntroduction(a: Introduction | undefined, b: Introduction | undefined): boolean {
  return a?.email === b?.email && a?.source === b?.source && a?.groups.join('\n') === b?.groups.join('\n')
}

/** The principal for a person that the provider described, by the running configuration. */
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

/** Two people must not share one name in the audit log, and a disabled user stays out. */
function takenBy(view: ConfigView, email: string): 'disabled' | 'taken' | undefined {
  const local = localUser(view, email)
  if (local !== undefined) return local.disabled ? 'disabled' : 'taken'
  const wanted = comparedName(email)
  const remote = [...view.list('radiusUsers')].find(({ username }) => comparedName(username) === wanted)
  if (remote?.disabled === true) return 'disabled'
  return remote !== undefined && principalOf(view, remote.id) !== undefined ? 'taken' : undefined
}
