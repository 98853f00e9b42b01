import type { TSchema } from 'typebox'
import type { Endpoint } from '../../src/api/endpoint.ts'

/** Returns the same numbers for the same seed, so that a finding can be repeated. */
export class Dice {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** Returns a number from 0 to 1, exclusive (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let value = this.#state
    value = Math.imul(value ^ (value >>> 15), value | 1)
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61)
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
  below(limit: number): number {
    return Math.floor(this.next() * limit)
  }
  chance(share: number): boolean {
    return this.next() < share
  }
  of<T>(values: readonly T[]): T {
    const value = values[this.below(values.length)]
    if (value === undefined && values.length === 0) throw new Error('there is nothing to choose from')
    return value as T
  }
}

/** Texts that have broken one program or another. */
export const HOSTILE: readonly string[] = [
  '',
  ' ',
  '\n',
  'a\r\nb',
  '"',
  "'",
  '`id`',
  '$(id)',
  ';id',
  '| id',
  '%n%s%x',
  '%0a',
  '../../etc/passwd',
  '..%2f..%2fetc%2fpasswd',
  '\u0000',
  '\u001b[2J',
  '\u2028',
  '\u202e',
  '\ufeff',
  '\ud800',
  '🦊'.repeat(100),
  '{}',
  '#',
  '\\',
  '<script>',
  '__proto__',
  'constructor',
  '-1',
  '1e309',
  'null',
  '**',
  'x'.repeat(5000),
]

const OTHERS: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  [],
  {},
  [[]],
  [null],
  { a: { b: {} } },
  'x',
]

/** Values that fit fields of this name, so that some requests succeed. */
export type Samples = Readonly<Record<string, readonly unknown[]>>

const partOf = (schema: TSchema, name: string): unknown => Reflect.get(schema, name)
const numberOf = (schema: TSchema, name: string, otherwise: number): number => Number(partOf(schema, name) ?? otherwise)

/** Returns a value that fits the schema, or nearly: patterns and further rules are met by samples only. */
export function fitting(schema: TSchema, name: string, dice: Dice, samples: Samples): unknown {
  const known = samples[name]
  if (known !== undefined && dice.chance(0.8)) return dice.of(known)
  const forms = partOf(schema, 'anyOf')
  if (Array.isArray(forms)) return fitting(dice.of(forms as TSchema[]), name, dice, samples)
  const values = partOf(schema, 'enum')
  if (Array.isArray(values)) return dice.of(values)
  if (partOf(schema, 'const') !== undefined) return partOf(schema, 'const')
  switch (partOf(schema, 'type')) {
    case 'object':
      return fittingObject(schema, dice, samples)
    case 'array':
      return Array.from({ length: dice.below(4) }, () =>
        fitting(partOf(schema, 'items') as TSchema, name, dice, samples),
      )
    case 'integer':
    case 'number': {
      const [low, high] = [numberOf(schema, 'minimum', -10), numberOf(schema, 'maximum', 1000)]
      return dice.chance(0.2) ? dice.of([low, high]) : low + dice.below(Math.min(high - low, 100_000) + 1)
    }
    case 'boolean':
      return dice.chance(0.5)
    case 'null':
      return null
    default:
      return textFor(schema, dice)
  }
}

const LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789-'

function textFor(schema: TSchema, dice: Dice): string {
  const length = numberOf(schema, 'minLength', 1) + dice.below(12)
  return Array.from({ length }, () => LETTERS.charAt(dice.below(LETTERS.length))).join('')
}

function fittingObject(schema: TSchema, dice: Dice, samples: Samples): Record<string, unknown> {
  const required = new Set((partOf(schema, 'required') as readonly string[] | undefined) ?? [])
  const properties = Object.entries((partOf(schema, 'properties') as Record<string, TSchema> | undefined) ?? {})
  return Object.fromEntries(
    properties
      .filter(([name]) => required.has(name) || dice.chance(0.5))
      .map(([name, property]) => [name, fitting(property, name, dice, samples)]),
  )
}

/** Returns the value with one error. */
export function broken(value: unknown, dice: Dice): unknown {
  if (dice.chance(0.15)) return dice.chance(0.5) ? dice.of(HOSTILE) : dice.of(OTHERS)
  if (Array.isArray(value) && value.length > 0) {
    const at = dice.below(value.length)
    return value.map((item: unknown, index) => (index === at ? broken(item, dice) : item))
  }
  if (typeof value !== 'object' || value === null) return dice.chance(0.5) ? dice.of(HOSTILE) : dice.of(OTHERS)
  const fields = Object.entries(value)
  if (fields.length === 0 || dice.chance(0.15)) return { ...value, [dice.of(HOSTILE)]: dice.of(OTHERS) }
  const [name, field] = dice.of(fields)
  if (dice.chance(0.2)) return Object.fromEntries(fields.filter(([other]) => other !== name))
  return { ...value, [name]: broken(field, dice) }
}

/** Returns bytes that are no body at all. */
export function junk(dice: Dice): Buffer {
  const kinds = [
    () => Buffer.from('['.repeat(dice.below(5000))),
    () => Buffer.from('{"a":'.repeat(dice.below(2000))),
    () => Buffer.from([0xff, 0xfe, 0x00, dice.below(256)]),
    () => Buffer.from(`{"__proto__":{"x":1},"a":${dice.below(10)}}`),
    () => Buffer.from(`{"a":1,"a":${'9'.repeat(400)}}`),
    () => Buffer.from(Array.from({ length: dice.below(300) }, () => dice.below(256))),
  ]
  return dice.of(kinds)()
}

export interface Made {
  readonly method: string
  readonly path: string
  readonly raw: Uint8Array | undefined
}

/** Returns a request for this endpoint: valid, nearly valid, or nothing like it. */
export function requestFor(endpoint: Endpoint, dice: Dice, samples: Samples): Made {
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = dice.chance(0.9) && samples[name] !== undefined ? dice.of(samples[name]) : dice.of(HOSTILE)
    return encodeURIComponent(wellFormed(String(value)))
  })
  const query = endpoint.query === undefined || dice.chance(0.3) ? '' : `?${queryFor(endpoint.query, dice, samples)}`
  const raw = endpoint.method === 'GET' ? undefined : bodyFor(endpoint, dice, samples)
  return { method: endpoint.method, path: `${path}${query}`, raw }
}

function queryFor(schema: TSchema, dice: Dice, samples: Samples): string {
  const fields = fittingObject(schema, dice, samples)
  const pairs = Object.entries(dice.chance(0.3) ? Object(broken(fields, dice)) : fields)
  return new URLSearchParams(
    pairs.map(([name, value]): [string, string] => [name, wellFormed(String(value))]),
  ).toString()
}

/** Half a character cannot be sent in UTF-8. */
const wellFormed = (text: string) => Buffer.from(text).toString()

function bodyFor({ body }: Endpoint, dice: Dice, samples: Samples): Uint8Array | undefined {
  if (dice.chance(0.05)) return junk(dice)
  if (body === undefined || partOf(body, 'type') === 'void')
    return dice.chance(0.9) ? undefined : Buffer.from('{"a":1}')
  const value = fitting(body, '', dice, samples)
  return Buffer.from(JSON.stringify(dice.chance(0.5) ? value : broken(value, dice)) ?? 'null')
}
