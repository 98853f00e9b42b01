import { isIP } from 'node:net'
import { Type, type TObject, type TOptional, type TProperties, type TSchema } from 'typebox'

/** Field schemas that several records share. Every one names its unit and range. */

/** Id of a record, with what it is for. */
export const idOf = (description: string) =>
  Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9-]+$', description })

/** One line of text, for files and protocols in which a line break would begin something else. */
export const Line = (maxLength: number, description: string) =>
  Type.String({
    maxLength,
    pattern: '^[^\\u0000-\\u001f\\u007f]*$',
    description: `${description} Up to ${maxLength} characters.`,
  })

export const Id = idOf('Record id.')

/** Marks a field as holding the id of a record of one of these sections. */
export const refersTo = <T extends TSchema>(schema: T, ...sections: readonly string[]): T => ({
  ...schema,
  [REFERS_TO]: sections,
})
export const REFERS_TO = 'x-refers-to'

/** Returns the sections to which the field refers; undefined if it is no reference. */
export const referredBy = (schema: TSchema): readonly string[] | undefined => Reflect.get(schema, REFERS_TO) as never

export const Name = Type.String({
  minLength: 1,
  maxLength: 128,
  // Takes linear time: each part is tried once, from the start.
  pattern: '^(?=.*\\S)[^\\u0000-\\u001f\\u007f]*$',
  description: 'Name shown to people, unique in its collection; 1 to 128 characters without control characters.',
})

export const Owner = Type.Optional(
  Type.String({
    maxLength: 64,
    pattern: '^[A-Za-z0-9._@-]*$',
    description:
      'Owner of the record, such as a team: a document of that owner may delete the record. Up to 64 letters, digits, ., _, @ and -; empty or omitted: no owner.',
  }),
)

/**
 * Schema keyword for formats of which a text has one; only for the document, as TypeBox would check `format` in its own
 * way.
 */
export const FORMATS = 'x-formats'

export const Ip = Type.Refine(
  Type.String({ maxLength: 45, [FORMATS]: ['ipv4', 'ipv6'], description: 'IPv4 or IPv6 address.' }),
  // A zone such as %eth0 is meaningful on one machine only.
  (value) => isIP(value) !== 0 && !value.includes('%'),
  () => 'must be an IPv4 or IPv6 address',
)

/** Id that the daemon generates for something other than a stored record: see newId of base/ids.ts. */
export const newIdOf = (description: string) => Type.String({ format: 'uuid', description })

/** A time as the daemon writes it. Fields of requests also accept other forms, such as YYYY-MM-DD. */
export const Moment = (description: string) => Type.String({ format: 'date-time', description })

export const MomentOrNull = (description: string) =>
  Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description })

export const Port = Type.Integer({ minimum: 1, maximum: 65535, description: 'TCP or UDP port, 1 to 65535.' })

/** A server that is not a record, for when no real server is left. */
export const FallbackServer = closed({ ip: Ip, port: Port }, 'Address and port of the server.', 'FallbackServer')

export const Weight = Type.Integer({
  minimum: 0,
  maximum: 256,
  description: 'Share of connections relative to the sum of all weights, 0 to 256 (the range of HAProxy).',
})

export const Seconds = (description: string, maximum = 86_400) =>
  Type.Integer({ minimum: 1, maximum, description: `${description} Seconds, 1 to ${maximum}.` })

/** All properties optional: the body of an update that keeps what is omitted. */
export function optional<P extends TProperties>(properties: P): { [K in keyof P]: TOptional<P[K]> } {
  const entries = Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)])
  return Object.fromEntries(entries)
}

/** An object that refuses fields it does not name. Clients know it by its title (docs/decisions/142). */
export function closed<P extends TProperties>(properties: P, description?: string, title?: string): TObject<P> {
  return Type.Object(properties, {
    ...(title === undefined ? {} : { title }),
    additionalProperties: false,
    ...(description === undefined ? {} : { description }),
  })
}

/** Returns the schema of an answer, with the name by which clients know it. */
export const titled = <P extends TProperties>(title: string, properties: P): TObject<P> =>
  Type.Object(properties, { title })
