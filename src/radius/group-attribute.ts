import { isUtf8 } from 'node:buffer'
import type { RadiusConfig } from '../model/sign-in.ts'
import { type Attribute, TYPE, valuesOf, vendorValues } from './packet.ts'

/** The attribute in which an answer names groups. */
interface Place {
  readonly vendor: number | undefined
  readonly type: number
  readonly isNumber: boolean
}

const text = (type: number, vendor?: number): Place => ({ vendor, type, isNumber: false })

/** Attributes in which servers name groups. Any other is given by its number. */
const NAMED: Readonly<Record<string, Place>> = {
  'Service-Type': { ...text(6), isNumber: true },
  'Filter-Id': text(11),
  'Reply-Message': text(TYPE.replyMessage),
  'Callback-Id': text(20),
  Class: text(25),
  'Login-LAT-Group': text(36),
  'Connect-Info': text(77),
  'Configuration-Token': text(78),
  'Framed-Pool': text(88),
  'Cisco-AVPair': text(1, 9),
  'Juniper-Local-User-Name': text(1, 2636),
  'Fortinet-Group-Name': text(1, 12_356),
  'PaloAlto-Admin-Role': text(1, 25_461),
}
const BY_NAME = new Map(Object.entries(NAMED).map(([name, place]) => [name.toLowerCase(), place]))
const VENDOR_MAX = 0xff_ff_ff

function numbered(name: string): Place | undefined {
  const parts = /^(?:(\d{1,8}):)?(\d{1,3})$/.exec(name)
  if (parts === null) return undefined
  const vendor = parts[1] === undefined ? undefined : Number(parts[1])
  const type = Number(parts[2])
  if (type < 1 || type > 255 || (vendor !== undefined && (vendor < 1 || vendor > VENDOR_MAX))) return undefined
  return text(type, vendor)
}

/** Finds the attribute by its name, as a number from 1 to 255, or as `Vendor:Type` in numbers. */
const placeOf = (name: string): Place | undefined => BY_NAME.get(name.toLowerCase()) ?? numbered(name)

export function groupAttributeProblem(name: string): string | undefined {
  if (placeOf(name) !== undefined) return undefined
  return `must be one of ${Object.keys(NAMED).join(', ')}, a number from 1 to 255, or Vendor:Type in numbers`
}

const hexadecimal = (value: Uint8Array) => `0x${Buffer.from(value).toString('hex')}`

/** Returns valid text unchanged; other values, such as the octets of a Class, as `0x` and hexadecimal digits. */
function readable(value: Uint8Array): string {
  const string = Buffer.from(value).toString()
  return isUtf8(value) && !/\p{Cc}/u.test(string) ? string : hexadecimal(value)
}

/** Returns the values of the group attribute in readable form, each once. */
export function groupValues(name: string, attributes: readonly Attribute[]): readonly string[] {
  const place = placeOf(name)
  if (place === undefined) return []
  const { vendor, type, isNumber } = place
  const values = vendor === undefined ? valuesOf(attributes, type) : vendorValues(attributes, vendor, type)
  const asNumber = (value: Uint8Array) =>
    value.length === 4 ? String(Buffer.from(value).readUInt32BE()) : hexadecimal(value)
  return [...new Set(values.map((value) => (isNumber ? asNumber(value) : readable(value))))]
}

type Mapping = Pick<RadiusConfig, 'groupMappings' | 'denyUnmapped'>

/** Returns the groups for the values, each once; undefined for a user who is refused because there is none. */
export function mappedGroups({ groupMappings, denyUnmapped }: Mapping, values: readonly string[]) {
  const meant = new Set(values.flatMap((value) => [value, hexadecimal(Buffer.from(value))]))
  const isMeant = (value: string) => meant.has(value) || (/^0x/i.test(value) && meant.has(value.toLowerCase()))
  const mapped = groupMappings.filter(({ value }) => isMeant(value))
  const groups = [...new Set(mapped.map(({ groupId }) => groupId))]
  return groups.length === 0 && denyUnmapped ? undefined : groups
}
