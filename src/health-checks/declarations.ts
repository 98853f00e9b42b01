import { Value } from 'typebox/value'
import type { FieldProblem } from '../base/errors.ts'
import { declared, ParameterDeclaration, PARAMETERS_MAX, SentDeclaration } from '../model/health-check.ts'
import { valueProblem } from './values.ts'

const HEADER_LINES_MAX = 64
const HEADER = /^#[ \t]*@param[ \t]/

/** Parameters declared by the headers of a script, and problems with headers that cannot be read. */
export interface Headers {
  readonly parameters: readonly ParameterDeclaration[]
  readonly problems: readonly FieldProblem[]
}

/** Reads `# @param {json}` headers, one per line, in the first 64 lines. */
export function headersOf(script: string): Headers {
  const parameters: ParameterDeclaration[] = []
  const problems: FieldProblem[] = []
  for (const [index, line] of script.split('\n', HEADER_LINES_MAX).entries()) {
    const [marker] = HEADER.exec(line) ?? []
    if (marker === undefined) continue
    const header = parsed(line.slice(marker.length))
    if (Value.Check(SentDeclaration, header)) parameters.push(declared(header))
    else problems.push(headerProblem(index + 1, header))
  }
  if (parameters.length > PARAMETERS_MAX) {
    const message = `declares more than ${PARAMETERS_MAX} parameters`
    problems.push({ field: 'script', code: 'INVALID_BODY', message })
  }
  return { parameters, problems: [...problems, ...declarationProblems(parameters, 'script')] }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function headerProblem(line: number, header: unknown): FieldProblem {
  const of = `has a parameter header in line ${line} that`
  if (hasBadName(header)) {
    return { field: 'script', code: 'INVALID_NAME', message: `${of} has no name of 1 to 64 letters and digits` }
  }
  return { field: 'script', code: 'INVALID_BODY', message: `${of} is not a JSON declaration with a name` }
}

const hasBadName = (header: unknown): boolean =>
  typeof header === 'object' &&
  header !== null &&
  'name' in header &&
  !Value.Check(ParameterDeclaration.properties.name, header.name)

/** Returns problems with declarations; `field` says where they were found: in parameters, or in script. */
export function declarationProblems(
  parameters: readonly ParameterDeclaration[],
  field: 'parameters' | 'script',
): readonly FieldProblem[] {
  const problems: FieldProblem[] = []
  const names = new Set<string>()
  for (const [index, { name, type, required, default: fallback }] of parameters.entries()) {
    const add = (of: string, code: FieldProblem['code'], message: string): void => {
      const isListed = field === 'parameters'
      problems.push({
        field: isListed ? `parameters.${index}.${of}` : field,
        code,
        message: isListed ? message : `declares ${name}: ${of} ${message}`,
      })
    }
    if (!Value.Check(ParameterDeclaration.properties.name, name)) {
      add('name', 'INVALID_NAME', 'must be 1 to 64 letters and digits')
    }
    if (names.has(name)) add('name', 'INVALID_NAME', `is ${name}, which is declared twice`)
    names.add(name)
    if (required === true && fallback !== undefined) {
      add('default', 'PARAMETER_CONFLICT', 'is given although the parameter is required')
    }
    const problem = fallback === undefined ? undefined : valueProblem(type, fallback)
    if (problem !== undefined) add('default', 'INVALID_BODY', problem)
  }
  return problems
}
