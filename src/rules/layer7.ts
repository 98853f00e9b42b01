import { type FieldProblem, problemIn } from '../base/errors.ts'
import { isLogged } from '../model/access-log.ts'
import type { L7Backend, L7Frontend, L7Real } from '../model/layer7.ts'
import { backendRuleProblems, frontendRuleProblems } from './l7-rules.ts'
import {
  type BackendSettings,
  backendSettingProblems,
  type FrontendSettings,
  frontendSettingProblems,
  httpOnly,
} from './l7-settings.ts'

/** Returns the problems of a frontend, without looking at other records. */
export function frontendProblems(
  frontend: FrontendSettings & Pick<L7Frontend, 'httpRedirectToHttps' | 'hsts' | 'logs' | 'rules'>,
): readonly FieldProblem[] {
  const { mode, httpRedirectToHttps, hsts = false, logs } = frontend
  return [
    ...httpOnly(mode, { httpRedirectToHttps, hsts: Number(hsts) > 0, logs: isLogged(logs) }),
    ...frontendSettingProblems(frontend),
    ...frontendRuleProblems(frontend),
  ]
}

/**
 * Returns the problems of a backend, without looking at other records, in whatever order its conflicting fields were
 * sent.
 */
export function backendProblems(
  backend: BackendSettings & Pick<L7Backend, 'persistence' | 'balance' | 'reals' | 'rules'>,
): readonly FieldProblem[] {
  const { mode, persistence, balance, reals, rules = [] } = backend
  const problems: FieldProblem[] = []
  if (mode === 'tcp' && persistence.type === 'cookie')
    problems.push(problemIn('persistence.type', 'cookie needs mode http; in mode tcp use ip or none'))
  if (mode === 'tcp' && balance === 'uri')
    problems.push(problemIn('balance', 'uri needs mode http; in mode tcp use any other'))
  const seen = new Set<string>()
  for (const [at, member] of reals.entries()) {
    if (seen.has(member.ripId)) problems.push(problemIn(`reals.${at}.ripId`, 'is already in this backend'))
    seen.add(member.ripId)
    for (const [field, message] of tlsProblems(member)) problems.push(problemIn(`reals.${at}.${field}`, message))
  }
  return [...problems, ...backendSettingProblems(backend), ...backendRuleProblems({ mode, rules })]
}

const NEEDS_ENCRYPTED = 'needs encrypted: without it, TLS is not used to the real server'

function tlsProblems({ encrypted, verify, sni }: L7Real): readonly (readonly [field: string, message: string])[] {
  if (encrypted !== true) {
    return [
      ...(verify === true ? ([['verify', NEEDS_ENCRYPTED]] as const) : []),
      ...(sni === undefined ? [] : ([['sni', NEEDS_ENCRYPTED]] as const)),
    ]
  }
  // Without a name, any certificate of the same authorities would be accepted.
  return verify === true && sni === undefined
    ? [['sni', 'is required for verify: the name that the certificate must have']]
    : []
}
