import type { FieldProblem } from '../base/errors.ts'
import type { Problem } from '../model/problem.ts'
import type { ConfigView, SectionName } from '../model/sections.ts'
import { missingForOidc, oidcProblems } from './oidc.ts'
import { sentProblems } from './radius.ts'
import { fieldProblems, missingFor } from './saml.ts'

/**
 * Checks again what the endpoints refuse, because a backup or an earlier revision may contain it: logins must not
 * break.
 */
export function verifySignIn(desired: ConfigView): readonly Problem[] {
  const problems: Problem[] = []
  const add = (section: SectionName, id: string, title: string, found: readonly FieldProblem[]) => {
    for (const { field, message } of found)
      problems.push({ section, id, field, message: `${title}: ${field} ${message}` })
  }
  for (const saml of desired.list('samlConfigs')) {
    add('samlConfigs', saml.id, 'Single sign-on', [...fieldProblems(saml), ...missingFor(saml)])
  }
  for (const oidc of desired.list('oidcConfigs')) {
    add('oidcConfigs', oidc.id, 'OpenID Connect', [...oidcProblems(oidc), ...missingForOidc(oidc)])
  }
  for (const { port: _, ...radius } of desired.list('radiusConfigs')) {
    add('radiusConfigs', radius.id, 'RADIUS', sentProblems(radius))
  }
  return problems
}
