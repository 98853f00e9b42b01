import { nameBasedId } from '../base/ids.ts'
import { SHARED } from '../model/node.ts'
import type { ConfigView } from '../model/sections.ts'
import type { OidcConfig } from '../model/sign-in.ts'
import { comparedName } from './login-name.ts'
import { localUser, type Principal, principalOf } from './principal.ts'

/**
 * What an identity provider says of somebody who is no user here. The sessions of this person keep it, and what runs
 * judges it at each request: rights are never kept.
 */
export interface Introduction {
  readonly email: string
  /** Whose word it is, and where in the token it stood; see `sourceOf`. */
  readonly source: string
  /** Those that were mapped at the login, of the thousands that a token may name. */
  readonly groups: readonly string[]
}

/** What stands for nobody: why, as far as it matters to whom. */
type NotLetIn = 'off' | 'unmapped' | 'disabled' | 'taken'

/** What the word of the provider rests on. Where it changes, whatever was said before says nothing any more. */
const sourceOf = ({ issuer, clientId, emailClaim, groupsClaim }: OidcConfig) =>
  JSON.stringify([issuer, clientId, emailClaim, groupsClaim])

/** The same person has the same id at every node and login: names are unique, and stand in the audit log. */
const idOf = (email: string) => nameBasedId(`OpenID Connect user ${comparedName(email)}`)

/**
 * Plain addresses only (RFC 5322, atoms): who looks like somebody else in a log, by letters of other scripts, is not
 * let in without a record here.
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

/** Who somebody is of whom the provider said this, by what runs now. */
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

/** What two people do would stand under one name in the audit log; and who was disabled stays out. */
function takenBy(view: ConfigView, email: string): 'disabled' | 'taken' | undefined {
  const local = localUser(view, email)
  if (local !== undefined) return local.disabled ? 'disabled' : 'taken'
  const wanted = comparedName(email)
  const remote = [...view.list('radiusUsers')].find(({ username }) => comparedName(username) === wanted)
  if (remote?.disabled === true) return 'disabled'
  return remote !== undefined && principalOf(view, remote.id) !== undefined ? 'taken' : undefined
}
