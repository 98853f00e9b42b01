import type { ExternalLogin, Verdict } from './external-login.ts'
import { FairTurns } from '../base/fair-turns.ts'
import { SHARED } from '../model/node.ts'
import type { ConfigView } from '../model/sections.ts'
import type { RadiusConfig } from '../model/sign-in.ts'
import { type ClientParts, RadiusClient } from '../radius/client.ts'
import { credentialProblem } from '../radius/credentials.ts'
import { type Attribute, TYPE, valuesOf } from '../radius/packet.ts'
import { groupValues, mappedGroups } from '../radius/group-attribute.ts'

/** Each holds a socket while servers are silent. */
export const LOGINS_MAX = 64
export const WAITING_EACH_MAX = 16
const WAITING_MAX = 256

export interface RadiusLoginParts extends ClientParts {
  readonly running: ConfigView
}

/**
 * The RADIUS servers of running as a source of users. Excess attempts are refused with RATE_LIMITED: anybody can cause
 * them, and one place must not occupy servers that are slow or slow to refuse.
 */
export function radiusLogin(parts: RadiusLoginParts): ExternalLogin {
  const client = new RadiusClient(parts)
  const turns = new FairTurns({
    concurrent: LOGINS_MAX,
    waitingEach_max: WAITING_EACH_MAX,
    waiting_max: WAITING_MAX,
    busy: 'Too many logins at once; try again in a few seconds',
  })
  return {
    authenticate: (name, password, place) => turns.run(place, () => judged(parts, client, name, password)),
  }
}

async function judged(
  { running, log }: RadiusLoginParts,
  client: RadiusClient,
  name: string,
  password: string,
): Promise<Verdict> {
  const config = switchedOn(running)
  if (config === undefined) return { outcome: 'off' }
  const result = await client.ask(config, name, password)
  if (result.outcome !== 'accepted') return { outcome: result.outcome }
  // Read again, to include what was applied while the servers were queried.
  const now = switchedOn(running)
  if (now === undefined) return { outcome: 'off' }
  const groups = mappedGroups(now, groupValues(now.groupAttribute, result.attributes))
  if (groups !== undefined) return { outcome: 'accepted', groups, name: nameIn(result.attributes) }
  log.warn('a RADIUS server accepted a user to whom no group mapping applies', { account: name })
  return { outcome: 'refused' }
}

function switchedOn(running: ConfigView): RadiusConfig | undefined {
  const config = running.get('radiusConfigs', SHARED)
  return config?.enabled === true && config.hosts.length > 0 ? config : undefined
}

/** RFC 2865, section 5.1: an acceptance may contain the name to use for the session. */
export function nameIn(attributes: readonly Attribute[]): string | undefined {
  const [value] = valuesOf(attributes, TYPE.userName)
  const name = value === undefined ? '' : Buffer.from(value).toString()
  return credentialProblem(name, 'x', 'PAP') === undefined ? name : undefined
}
