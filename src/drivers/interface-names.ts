import { nameBasedId } from '../base/ids.ts'

/**
 * Configurations know interfaces by ids that survive another name. A file that needs the name has a place for it, which
 * is filled in on the machine when the file is written.
 */
export const interfacePlace = (id: string): string => `{interface:${encodeURIComponent(id)}}`

const PLACES = /\{interface:([^{}\s]*)\}/g
/** Characters of the longest name that the kernel gives, less those of the beginning. */
const REST_LENGTH = 10

/** `names` are those of this machine by id. One that is not there gets a name that no interface has. */
export function withInterfaceNames(text: string, names: ReadonlyMap<string, string>): string {
  return text.replaceAll(PLACES, (_, coded: string) => {
    const id = decodeURIComponent(coded)
    return names.get(id) ?? `gone-${nameBasedId(id).replaceAll('-', '').slice(0, REST_LENGTH)}`
  })
}
