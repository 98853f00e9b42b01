import type { L7Frontend } from '../../model/layer7.ts'
import type { ConfigView } from '../../model/sections.ts'
import { isResting } from '../resting.ts'

/** The frontends as HAProxy gets them: a resting one is disabled. */
export function servedFrontends(view: ConfigView): readonly L7Frontend[] {
  return [...view.list('l7Frontends')].map((frontend) =>
    frontend.enabled && isResting(frontend, view) ? { ...frontend, enabled: false } : frontend,
  )
}
