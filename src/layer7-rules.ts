import type { L7Frontend } from './model/layer7.ts'

/** Fields of a frontend that mean nothing where bytes are only passed. */
export function httpOnlyProblems({
  mode,
  httpRedirectToHttps = false,
  hsts = false,
}: Pick<L7Frontend, 'mode' | 'httpRedirectToHttps' | 'hsts'>): readonly {
  readonly field: string
  readonly message: string
}[] {
  if (mode !== 'tcp') return []
  const asked = { httpRedirectToHttps, hsts: Number(hsts) > 0 }
  return Object.entries(asked)
    .filter(([, isAsked]) => isAsked)
    .map(([field]) => ({ field, message: 'needs mode http' }))
}
