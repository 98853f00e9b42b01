import { MASK } from '../base/mask.ts'

const TEXT_MAX = 512
const DEPTH_MAX = 4
const FIELDS_MAX = 50
/** Maximum length of the whole body. */
const LENGTH_MAX = 4_096

/** Fields that hold a secret or a file, whatever endpoint they belong to. */
export const SECRET_FIELD = /pass|secret|token|key|pem|pfx|cert|community|otp|saml|^code$|backup$|packages$/i

/** Returns the body of a request in the form for the audit log; undefined if nothing is left of it. */
export function auditedBody(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Object.keys(body).length === 0) return undefined
  const told = shortened(body, 0)
  const { length } = JSON.stringify(told)
  return length > LENGTH_MAX ? { leftOut: `${length} characters` } : told
}

function shortened(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.length > TEXT_MAX ? `${value.slice(0, TEXT_MAX)}…` : value
  if (typeof value !== 'object' || value === null) return value
  if (depth >= DEPTH_MAX) return '…'
  if (Array.isArray(value)) return value.slice(0, FIELDS_MAX).map((item) => shortened(item, depth + 1))
  const fields = Object.entries(value).slice(0, FIELDS_MAX)
  return Object.fromEntries(
    fields.map(([name, field]) => [name, SECRET_FIELD.test(name) ? MASK : shortened(field, depth + 1)]),
  )
}
