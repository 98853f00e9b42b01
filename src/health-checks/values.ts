import { isIP } from 'node:net'
import { isHostName, type ParameterDeclaration } from '../model/health-check.ts'

const INTEGER = /^-?\d{1,15}$/
// oxlint-disable-next-line no-control-regex -- a value is one line
const LINE = /^[^\u0000-\u001f\u007f]*$/

/** Why a text is no value of this type; undefined when it is one. */
export function valueProblem(type: ParameterDeclaration['type'], value: string): string | undefined {
  if (!LINE.test(value)) return 'must be one line without control characters'
  switch (type) {
    case 'integer':
      return INTEGER.test(value) ? undefined : 'must be a whole number'
    case 'port':
      return isPort(value) ? undefined : 'must be a port from 1 to 65535'
    case 'path':
      return isPath(value) ? undefined : 'must be an absolute path without ..'
    case 'hostname':
      return isHostName(value) || isIP(value) !== 0 ? undefined : 'must be a host name or an address'
    case 'string':
      return undefined
  }
}

const isPort = (value: string): boolean => /^\d{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= 65_535

const isPath = (value: string): boolean => value.startsWith('/') && !value.split('/').includes('..')
