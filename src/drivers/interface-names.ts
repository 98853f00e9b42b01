import { nameBasedId } from '../base/ids.ts'

/**
 * Configurations refer to interfaces by ids that survive renaming. A file that needs the name has a place for it, which
 * is filled in when the file is written on the machine.
 */
export const interfacePlace = (id: string): string => `{interface:${encodeURIComponent(id)}}`

const PLACES = /\{interface:([^{}\s]*)\}/g
/** Length of the longest name that the kernel gives, minus the prefix. */
const REST_LENGTH = 10

/** `names` are this machine's by id. A missing interface gets a name that no interface has. */
export function withInterfaceNames(text: string, names: ReadonlyMap<string, string>): string {
  return text.replaceAll(PLACES, (_, coded: string) => {
    const id = decodeURIComponent(coded)
    return names.get(id) ?? `gone-${nameBasedId(id).replaceAll('-', '').slice(0, REST_LENGTH)}`
  })
}
