import type { Static } from 'typebox'
import type { ContextOf } from './api/context.ts'
import type { SessionData } from './api/account.ts'
import { LICENCE } from './model/licence.ts'
import type { OpenedSession } from './model/session.ts'

/** However it was opened. */
export function openedSession(
  { nodeId, version }: Pick<ContextOf['act'], 'nodeId' | 'version'>,
  { user, token, mustEnrol }: SessionData,
): Static<typeof OpenedSession> {
  const session = { user: { ...user, extra: [] }, token, ...(mustEnrol ? { mustEnrol } : {}) }
  return { ...session, appliance_id: nodeId, applianceVersion: version, licence: LICENCE }
}
