import { Type } from 'typebox'

/** Parses "80,443,8000-8010" into ranges; undefined if it is not a port list. */
export function parsePorts(text: string): readonly { readonly first: number; readonly last: number }[] | undefined {
  const ranges = []
  for (const part of text.split(',')) {
    const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part)
    if (match === null) return undefined
    const first = Number(match[1])
    const last = match[2] === undefined ? first : Number(match[2])
    if (first < 1 || last > 65_535 || last < first) return undefined
    ranges.push({ first, last })
  }
  return ranges
}

export const Ports = Type.Refine(
  Type.String({ minLength: 1, maxLength: 255, description: 'Ports and ranges, such as "80,443,8000-8010".' }),
  (value) => parsePorts(value) !== undefined,
  () => 'must list ports and ranges between 1 and 65535, such as "80,443,8000-8010"',
)
