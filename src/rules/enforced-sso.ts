import { SHARED } from '../model/node.ts'
import type { ConfigView } from '../model/sections.ts'

/** Ways to log in through an identity provider, with their display names. */
const WAYS = [
  { section: 'samlConfigs', path: '/saml', name: 'SAML' },
  { section: 'oidcConfigs', path: '/oidc', name: 'OpenID Connect' },
] as const

/** Returns the single sign-on settings that switch password login off, except for the break-glass user. */
export function enforcedSso(view: ConfigView) {
  return WAYS.flatMap(({ section, path, name }) => {
    const config = view.get(section, SHARED)
    if (config?.enabled !== true || !config.enforced) return []
    const { breakGlassUserId } = config
    return [{ section, name, breakGlassUserId, loginPath: `${path}/login`, configPath: `${path}/config` }]
  })
}
