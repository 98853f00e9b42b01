import type { RestoreRequest } from '../context/backups.ts'
import type { FieldError } from '../base/errors.ts'
import { canonicalIp, familyOf, fullPrefix, networkOf, networkText, parseIp } from '../base/ip-network.ts'
import type { NetworkInterface } from '../model/machine-facts.ts'
import { addressProblems, groupProblems, interfaceIdOf } from '../rules/network.ts'
import type { Management } from './full-restore.ts'
import type { BackupHead } from '../backup-file/reading.ts'
import { BACKUP_SECTIONS } from '../backup-file/sections.ts'

const FULL_FIELDS = ['nodeId', 'ip', 'mask', 'gateway', 'interface'] as const

/** Returns the problems with the names of a part restore, and with fields that belong to a full one. */
export function partProblems(request: RestoreRequest): readonly FieldError[] {
  const names = (request.sections ?? []).flatMap((name, at): FieldError[] => {
    const field = `sections.${at}`
    const known = BACKUP_SECTIONS.find((section) => section.name === name)
    if (known === undefined) {
      const all = BACKUP_SECTIONS.filter(({ partRestore }) => partRestore).map((section) => section.name)
      return [{ field, code: 'SECTION_UNKNOWN', message: `is not a section; available are ${all.join(', ')}` }]
    }
    return known.partRestore
      ? []
      : [{ field, code: 'FULL_RESTORE_ONLY', message: 'can only be restored together with all others' }]
  })
  const fields = FULL_FIELDS.filter((field) => request[field] !== undefined).map((field) => ({
    field,
    code: 'FULL_RESTORE_ONLY',
    message: 'is only for a full restore: omit it, or omit sections',
  }))
  return [...names, ...fields]
}

/** Returns the problems with the fields of a full restore. */
export function fullProblems(
  request: RestoreRequest,
  { nodes }: BackupHead,
  interfaces: readonly NetworkInterface[],
): readonly FieldError[] {
  const problems: FieldError[] = []
  const add = (field: string, code: string, message: string) => problems.push({ field, code, message })
  const list = nodes.map(({ id, hostname }) => `${id} (${hostname})`).join(', ')
  if (request.nodeId !== undefined && !nodes.some(({ id }) => id === request.nodeId)) {
    add('nodeId', 'NOT_FOUND', `is not a node of this backup, which contains ${list}`)
  } else if (request.nodeId === undefined && nodes.length > 1) {
    add('nodeId', 'REQUIRED', `is required: this backup contains ${list}`)
  }
  if (request.fipActive === true)
    add('fipActive', 'PART_RESTORE_ONLY', 'is only for a partial restore: a full restore disables floating IPs')
  problems.push(...addressFields(request, interfaces))
  return problems
}

function addressFields(request: RestoreRequest, interfaces: readonly NetworkInterface[]): readonly FieldError[] {
  const { ip, mask, gateway, interface: named } = request
  if (ip === undefined) {
    const alone = (['mask', 'gateway', 'interface'] as const).filter((field) => request[field] !== undefined)
    return alone.map((field) => ({ field, code: 'ADDRESS_REQUIRED', message: 'has no effect without ip' }))
  }
  const problems: FieldError[] = []
  const needed = (['mask', 'interface'] as const).filter((field) => request[field] === undefined)
  for (const field of needed) problems.push({ field, code: 'REQUIRED', message: 'is required with ip' })
  if (named !== undefined && interfaceIdOf(named, interfaces) === undefined) {
    problems.push({
      field: 'interface',
      code: 'NOT_FOUND',
      message: 'is not an interface of this node, see GET /{applianceId}/interfaces',
    })
  }
  if (mask === undefined) return problems
  if (mask < 1 || mask > fullPrefix(familyOf(ip))) {
    return [...problems, { field: 'mask', code: 'OUT_OF_RANGE', message: `must be 1 to ${fullPrefix(familyOf(ip))}` }]
  }
  const group = groupOf(ip, mask, gateway)
  const rules = [...groupProblems(group), ...addressProblems(ip, { ...group, assignedInterfaces: [] })]
  return [
    ...problems,
    ...rules.map(({ field, message }) => ({ field: FIELD_OF[field] ?? field, code: 'INVALID', message })),
  ]
}

const FIELD_OF: Readonly<Record<string, string>> = { networkIp: 'ip', networkMask: 'mask' }

function groupOf(ip: string, mask: number, gateway: string | undefined) {
  const address = parseIp(ip)
  const [networkIp = ''] = address === undefined ? [] : networkText(networkOf({ ...address, prefix: mask })).split('/')
  return {
    id: 'management',
    name: 'management',
    networkIp,
    networkMask: mask,
    gateway: gateway ?? '',
    defaultGateway: gateway !== undefined && gateway !== '',
  }
}

/** Returns the requested management address; undefined if there is none. Only for a request without problems. */
export function managementOf(request: RestoreRequest, interfaces: readonly NetworkInterface[]): Management | undefined {
  const { ip, mask, gateway } = request
  const interfaceId = interfaceIdOf(request.interface ?? '', interfaces)
  if (ip === undefined || mask === undefined || interfaceId === undefined) return undefined
  const { id: _, name: __, ...subnet } = groupOf(ip, mask, gateway)
  return { ip: canonicalIp(ip), subnet, interfaceId }
}
