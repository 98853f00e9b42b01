import { SHARED } from '../model/node.ts'
import type { ConfigView } from '../model/sections.ts'

/** Ways to log in through an identity provider, as people hear of them. */
const WAYS = [
  { section: 'samlConfigs', path: '/saml', name: 'SAML' },
  { section: 'oidcConfigs', path: '/oidc', name: 'OpenID Connect' },
] as const

/** The configuration of single sign-on that switches passwords off, except for the user who breaks the glass. */
export function enforcedSso(view: ConfigView) {
  return WAYS.flatMap(({ section, path, name }) => {
    const config = view.get(section, SHARED)
    if (config?.enabled !== true || !config.enforced) return []
    const { breakGlassUserId } = config
    return [{ section, name, breakGlassUserId, loginPath: `${path}/login`, configPath: `${path}/config` }]
  })
}
