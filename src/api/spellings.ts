import { isDeepStrictEqual } from 'node:util'
import type { FieldProblem } from '../base/errors.ts'

/** Alternative names of fields in a body, each with the name that handlers know. */
export type Spellings = Readonly<Record<string, string>>

type Body = Readonly<Record<string, unknown>>

/** Returns problems for fields that are present under both names with different values. */
export function contradictions(body: Body, spellings: Spellings): readonly FieldProblem[] {
  return Object.entries(spellings).flatMap(([other, name]): FieldProblem[] => {
    if (body[other] === undefined || body[name] === undefined) return []
    if (isDeepStrictEqual(body[other], body[name])) return []
    const message = `conflicts with ${name}, which is the same field: send only one of them`
    return [{ field: other, code: 'INVALID_BODY', message }]
  })
}

/** Returns the body with every field under the name that handlers know. */
export function inOneSpelling(body: Body, spellings: Spellings): Body {
  if (!Object.keys(spellings).some((other) => other in body)) return body
  const own = Object.entries(body).filter(([name]) => !(name in spellings))
  const others = Object.entries(spellings).flatMap(([other, name]) => (other in body ? [[name, body[other]]] : []))
  return { ...Object.fromEntries(others), ...Object.fromEntries(own) }
}
