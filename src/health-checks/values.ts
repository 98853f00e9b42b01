import { isIP } from 'node:net'
import { isHostName, type ParameterDeclaration } from '../model/health-check.ts'

const INTEGER = /^-?\d{1,15}$/
// oxlint-disable-next-line no-control-regex -- a value is one line
const LINE = /^[^\u0000-\u001f\u007f]*$/

/** Returns why a text is not a value of this type; undefined if it is. */
export function valueProblem(type: ParameterDeclaration['type'], value: string): string | undefined {
  if (!LINE.test(value)) return 'must be one line without control characters'
  const { fits, problem } = RULES[type]
  return fits(value) ? undefined : problem
}

const isPort = (value: string): boolean => /^\d{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= 65_535

const isPath = (value: string): boolean => value.startsWith('/') && !value.split('/').includes('..')

const RULES: Readonly<Record<ParameterDeclaration['type'], { fits: (value: string) => boolean; problem: string }>> = {
  integer: { fits: (value) => INTEGER.test(value), problem: 'must be a whole number' },
  port: { fits: isPort, problem: 'must be a port from 1 to 65535' },
  path: { fits: isPath, problem: 'must be an absolute path without ..' },
  hostname: { fits: (value) => isHostName(value) || isIP(value) !== 0, problem: 'must be a host name or an address' },
  string: { fits: () => true, problem: '' },
  secret: { fits: () => true, problem: '' },
}
