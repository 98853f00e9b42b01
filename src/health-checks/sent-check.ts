import type { FieldProblem } from '../api/refuse.ts'
import { type ParameterDeclaration, SCRIPT_BYTES_MAX } from '../model/health-check.ts'
import { declarationProblems, headersOf } from './declarations.ts'

interface Sent {
  readonly script?: string
  readonly parameters?: readonly ParameterDeclaration[]
}

/** Rules about a script and its parameters that no schema can say. */
export function sentCheckProblems({ script, parameters }: Sent): readonly FieldProblem[] {
  const problems = script === undefined ? [] : scriptProblems(script)
  if (parameters !== undefined) return [...problems, ...declarationProblems(parameters, 'parameters')]
  return script === undefined || problems.length > 0 ? problems : headersOf(script).problems
}

function scriptProblems(script: string): readonly FieldProblem[] {
  const about = (code: FieldProblem['code'], message: string): readonly FieldProblem[] => [
    { field: 'script', code, message },
  ]
  if (Buffer.byteLength(script) > SCRIPT_BYTES_MAX) return about('PAYLOAD_TOO_LARGE', 'is larger than 256 KiB')
  const [first = ''] = script.split('\n', 1)
  if (!/^#! ?\//.test(first)) return about('INVALID_BODY', 'must begin with #! and the path of its interpreter')
  // The kernel would look for an interpreter with this character in its name.
  if (first.endsWith('\r')) return about('INVALID_BODY', 'has lines that end in CR: a script ends its lines with LF')
  // oxlint-disable-next-line no-control-regex -- a shell drops it without a word
  if (/\u0000/.test(script)) return about('INVALID_BODY', 'has a NUL character')
  return /\p{Surrogate}/u.test(script) ? about('INVALID_BODY', 'is no proper text') : []
}
