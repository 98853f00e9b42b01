import type { RadiusProbe, RadiusTested } from '../context/radius.ts'
import { ApiError } from '../base/errors.ts'
import type { RadiusConfig } from '../model/sign-in.ts'
import type { ConfigView } from '../model/sections.ts'
import { type Attempt, type ClientParts, RadiusClient, type Result } from '../radius/client.ts'
import { groupValues, mappedGroups } from '../radius/group-attribute.ts'
import { bareName } from './login-name.ts'
import { nameIn } from './radius-login.ts'

/** Tests at a time: each may wait for many silent servers. */
export const TESTS_MAX = 4

const WHAT_HAPPENED: Readonly<Record<Attempt['outcome'], string>> = {
  unresolved: 'the name cannot be resolved',
  silent:
    'no answer: the server may be down, not know this appliance, or have another shared secret, which servers do not report',
  unreachable: 'no answer: no server listens there, or there is no route to it',
  forged: 'it answers with a different shared secret',
  unprotected: 'it answers without Message-Authenticator, which is required',
  accepted: '',
  refused: '',
}

function unanswered(attempts: readonly Attempt[]): RadiusTested {
  const told = attempts.map(({ host, port, outcome }) => `${host} port ${port}: ${WHAT_HAPPENED[outcome]}`)
  const isResolved = attempts.some(({ outcome }) => outcome !== 'unresolved')
  const message = told.length === 0 ? 'No server answered in time' : told.join('; ')
  return { stage: isResolved ? 'connect' : 'resolve', ok: false, message, values: [], groups: [], attempts }
}

function tested(config: RadiusConfig, result: Result, isDisabled: boolean): RadiusTested {
  const { attempts } = result
  if (result.outcome === 'unreachable') return unanswered(attempts)
  const nothing = { values: [], groups: [], attempts }
  if (result.outcome === 'refused') return { stage: 'authenticate', ok: false, message: result.why, ...nothing }
  const values = groupValues(config.groupAttribute, result.attributes)
  const groups = mappedGroups(config, values)
  const said = values.length === 0 ? 'none' : values.join(', ')
  const seen = { stage: 'authorize', values, groups: groups ?? [], attempts } as const
  if (isDisabled)
    return { ...seen, ok: false, message: 'The server accepts this user, but the user is disabled on the appliance' }
  if (groups !== undefined)
    return { ...seen, ok: true, message: `The server accepts this user; ${config.groupAttribute}: ${said}` }
  return { ...seen, ok: false, message: `No group mapping applies to this user; ${config.groupAttribute}: ${said}` }
}

/** Queries servers with settings that need not be stored. Changes and keeps nothing. */
export function radiusProbe({ running, ...parts }: ClientParts & { readonly running: ConfigView }): RadiusProbe {
  let underWay = 0
  return {
    async test(settings, username, password) {
      if (underWay >= TESTS_MAX) {
        throw new ApiError(
          'TOO_MANY_AT_ONCE',
          'Too many tests of RADIUS settings at once; try again in a few seconds',
          {
            headers: { 'Retry-After': '5' },
          },
        )
      }
      underWay += 1
      try {
        const result = await new RadiusClient(parts).ask(settings, username, password)
        const said = result.outcome === 'accepted' ? nameIn(result.attributes) : undefined
        return tested(settings, result, isDisabledHere(running, said ?? username))
      } finally {
        underWay -= 1
      }
    },
  }
}

function isDisabledHere(running: ConfigView, username: string): boolean {
  const wanted = bareName(username)
  return [...running.list('radiusUsers')].some((user) => user.disabled && bareName(user.username) === wanted)
}
