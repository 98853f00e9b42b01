import { Type, type Static } from 'typebox'
import { closed, Id, idOf, Moment, Name, refersTo } from './fields.ts'

export const Email = Type.String({
  minLength: 3,
  maxLength: 254,
  pattern: '^[^\\s@\\u0000-\\u001f\\u007f]+@[^\\s@\\u0000-\\u001f\\u007f]+$',
  description: 'E-mail address, used as login name; not case-sensitive.',
})

export const PersonName = Type.String({
  maxLength: 128,
  pattern: '^[^\\u0000-\\u001f\\u007f]*$',
  description: 'First or last name; up to 128 characters.',
})

/** Ids of records of one section. */
export const Ids = (section: 'users' | 'groups' | 'roles', description: string) =>
  Type.Array(refersTo(Id, section), { maxItems: 10_000, uniqueItems: true, description })

/** The second factor: codes of RFC 6238 from a device of the user, and recovery codes on paper. */
export const SecondFactor = closed({
  secret: Type.String({ pattern: '^[A-Z2-7]{16,64}$', description: 'Key shared with the device, base32; secret.' }),
  recoveryCodes: Type.Array(Type.String({ description: 'SHA-256 of a code, hexadecimal.' }), {
    maxItems: 16,
    description: 'Recovery codes, each valid for one login; secret.',
  }),
  since: Moment('ISO 8601.'),
})
export type SecondFactor = Static<typeof SecondFactor>

/** A local user as stored. The password is kept only as an argon2id hash. */
export const User = closed({
  id: Id,
  email: Email,
  firstName: PersonName,
  lastName: PersonName,
  disabled: Type.Boolean({ description: 'A disabled user cannot log in and holds no session.' }),
  passwordHash: Type.String({ description: 'argon2id hash in PHC form; secret.' }),
  groups: Ids('groups', 'Ids of the groups this user belongs to.'),
  roles: Ids('roles', 'Ids of the roles this user holds directly.'),
  secondFactor: Type.Optional(SecondFactor),
})
export type User = Static<typeof User>

/** A group as stored. Its members are the users that name it. */
export const Group = closed({
  id: Id,
  name: Name,
  roles: Ids('roles', 'Ids of the roles that members of this group hold.'),
})
export type Group = Static<typeof Group>

/** The records that a right is confined to. All given conditions must hold. */
export const Where = closed(
  {
    owner: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        pattern: '^[A-Za-z0-9._@-]*$',
        description: 'Only records of this owner.',
      }),
    ),
    names: Type.Optional(
      Type.Array(
        Type.String({
          minLength: 1,
          maxLength: 128,
          pattern: '^(?=.*\\S)[^\\u0000-\\u001f\\u007f]*$',
          description: 'Name pattern; * matches any characters, or none; not case-sensitive.',
        }),
        {
          minItems: 1,
          maxItems: 100,
          description: 'Only records whose name matches one of these patterns; for floating IPs, the address.',
        },
      ),
    ),
    ids: Type.Optional(
      Type.Array(idOf('Id of a record, which need not exist.'), {
        minItems: 1,
        maxItems: 1000,
        description: 'Only records with these ids.',
      }),
    ),
  },
  'The right applies only to records that match all of these fields, before and after a change; at least one field is required.',
  'RoleWhere',
)
export type Where = Static<typeof Where>

/** A role as stored. Its holders are the users and groups that name it. */
export const Role = closed({
  id: Id,
  name: Name,
  builtin: Type.Boolean({
    description: 'True for a default role: its rights follow the daemon’s endpoint table and cannot be edited.',
  }),
  endpoints: Type.Array(Type.String({ description: 'Endpoint id.' }), { description: 'Ids of the granted endpoints.' }),
  // Separate from `endpoints`, so that a version without this field grants nothing instead of everything.
  confined: Type.Optional(
    Type.Array(closed({ endpoint: Type.String({ description: 'Endpoint id.' }), where: Where }), {
      description: 'Endpoints that are granted for some records only.',
    }),
  ),
})
export type Role = Static<typeof Role>
