import type { Static } from 'typebox'
import type { ContextOf } from '../../context/context.ts'
import type { SessionData } from '../../context/actor.ts'
import { licence } from '../../model/licence.ts'
import type { OpenedSession } from '../../model/session.ts'

/** Returns the answer to every kind of login, and notes the login for the audit log. */
export function openedSession(
  { nodeId, version, work }: Pick<ContextOf['act'], 'nodeId' | 'version' | 'work'>,
  opened: SessionData,
): Static<typeof OpenedSession> {
  work.noteLogin(opened)
  const { user, token, mustEnrol } = opened
  const session = { user: { ...user, extra: [] }, token, ...(mustEnrol ? { mustEnrol } : {}) }
  return { ...session, appliance_id: nodeId, applianceVersion: version, licence: licence(Date.now()) }
}
