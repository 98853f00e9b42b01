import type { L7Frontend } from '../../model/layer7.ts'
import type { ConfigView } from '../../model/sections.ts'
import { canonicalIp } from './address.ts'

/** Whether no node has the frontend's address: its floating IP is disabled, as after a full restore. */
export function isResting(frontend: L7Frontend, view: ConfigView): boolean {
  for (const { ip, enabled } of view.list('floatingIps')) {
    if (!enabled && ip === canonicalIp(frontend.ip)) return true
  }
  return false
}

/** The frontends as HAProxy has them: one that rests is disabled. */
export function servedFrontends(view: ConfigView): readonly L7Frontend[] {
  return [...view.list('l7Frontends')].map((frontend) =>
    frontend.enabled && isResting(frontend, view) ? { ...frontend, enabled: false } : frontend,
  )
}
