import { type FieldProblem, problemIn } from '../base/errors.ts'
import { declared, type HealthCheck, SCRIPT_BYTES_MAX, type SentDeclaration } from '../model/health-check.ts'
import { declarationProblems, headersOf } from './declarations.ts'

interface Sent {
  readonly script?: string
  readonly parameters?: readonly SentDeclaration[] | null
}

/** A text that begins with #! is the script itself, any other text the name of a file. */
export const isFileName = (script: string): boolean => !script.startsWith('#!')

/** Returns problems with a script and its parameters that the schema cannot express. */
export function sentCheckProblems({ script, parameters }: Sent): readonly FieldProblem[] {
  const problems = script === undefined ? [] : scriptProblems(script)
  if (parameters !== undefined && parameters !== null) {
    return [...problems, ...declarationProblems(parameters.map(declared), 'parameters')]
  }
  const isUnread = script === undefined || isFileName(script)
  return isUnread || problems.length > 0 ? problems : headersOf(script).problems
}

/** Refuses secrets in checks of backends: the programs that run those checks show their command lines to everybody. */
export function secretProblems({
  services,
  parameters,
}: Pick<HealthCheck, 'services' | 'parameters'>): readonly FieldProblem[] {
  const secret = parameters.findIndex(({ type }) => type === 'secret')
  const declaration = parameters[secret]
  if (declaration === undefined) return []
  if (declaration.default !== undefined)
    return [problemIn(`parameters.${secret}.default`, 'is not allowed for a secret: everybody could read it')]
  if (services.every((service) => service === 'dns-01')) return []
  return [problemIn('services', `must be dns-01 alone: the parameter ${declaration.name} is a secret`)]
}

function scriptProblems(script: string): readonly FieldProblem[] {
  const about = (code: FieldProblem['code'], message: string): readonly FieldProblem[] => [
    { field: 'script', code, message },
  ]
  if (isFileName(script)) return fileNameProblems(script)
  if (Buffer.byteLength(script) > SCRIPT_BYTES_MAX) return about('PAYLOAD_TOO_LARGE', 'is larger than 256 KiB')
  const [first = ''] = script.split('\n', 1)
  if (!/^#! ?\//.test(first)) return about('INVALID_BODY', 'must begin with #! and the path of its interpreter')
  // The kernel would look for an interpreter with this character in its name.
  if (first.endsWith('\r')) return about('INVALID_BODY', 'has lines that end in CR: a script ends its lines with LF')
  // oxlint-disable-next-line no-control-regex -- a shell drops it without a word
  if (/\u0000/.test(script)) return about('INVALID_BODY', 'has a NUL character')
  return /\p{Surrogate}/u.test(script) ? about('INVALID_BODY', 'is not valid text') : []
}

function fileNameProblems(name: string): readonly FieldProblem[] {
  if (/^[A-Za-z0-9._-]{1,64}$/.test(name) && !/^\.+$/.test(name)) return []
  const message =
    'must begin with #! and the path of its interpreter, or be the name of a file: 1 to 64 letters, digits, dots, underscores and dashes'
  return [{ field: 'script', code: 'INVALID_BODY', message }]
}
