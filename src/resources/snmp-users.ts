import { type Static, Type } from 'typebox'
import type { ContextOf } from '../context/context.ts'
import type { SectionReader } from '../context/sections.ts'
import { endpoint } from '../api/endpoint.ts'
import { type FieldProblem, problemIn, refuseFields } from '../base/errors.ts'
import { Reply } from '../api/reply.ts'
import { newId } from '../base/ids.ts'
import { closed } from '../model/fields.ts'
import { SHARED } from '../model/node.ts'
import { missingOf, SNMP_OFF, SnmpUser } from '../model/snmp.ts'
import { type AuthAlgorithm, localisedKey, masterKey, newEngineId, privacyKey } from '../snmp/keys.ts'

const { id, username, writeAccess, authAlgorithm, privacyAlgorithm } = SnmpUser.properties

const Shown = closed({
  id,
  username,
  writeAccess,
  authAlgorithm,
  privacyAlgorithm,
  complete: Type.Boolean({
    description: 'Whether the agent knows the user; it does not know users without both passphrases.',
  }),
  missing: Type.Array(Type.String({ description: 'Field of PUT /snmp/users/{id}.' }), {
    description: 'Missing fields of an incomplete user.',
  }),
})

const passphrase = (what: string) =>
  Type.Optional(
    Type.Union(
      [
        Type.String({
          minLength: 8,
          maxLength: 255,
          pattern: '^[^\\u0000-\\u001f\\u007f]*$',
          description: '8 to 255 characters.',
        }),
        Type.Null(),
      ],
      {
        description: `Passphrase for ${what}, 8 to 255 characters. Stored only as a key for this agent, and never returned. If omitted or null, the user is incomplete, and the agent does not know it.`,
      },
    ),
  )

const Body = closed({
  username: Type.Optional(
    Type.Union([username, Type.Null()], {
      description: 'Security name, 1 to 32 characters; null: a name is generated.',
    }),
  ),
  writeAccess: Type.Optional(writeAccess),
  authAlgorithm: Type.Optional(authAlgorithm),
  authPassphrase: passphrase('authentication'),
  privacyAlgorithm: Type.Optional(privacyAlgorithm),
  privacyPassphrase: passphrase('privacy'),
})
type Sent = Static<typeof Body>

type Fields = Omit<SnmpUser, 'id'>
const NOBODY: Fields = {
  username: '',
  writeAccess: false,
  authAlgorithm: 'sha',
  privacyAlgorithm: 'aes',
  authKey: '',
  privacyKey: '',
}

const CLEARED = {
  writeAccess: NOBODY.writeAccess,
  authAlgorithm: NOBODY.authAlgorithm,
  privacyAlgorithm: NOBODY.privacyAlgorithm,
}

const required = (field: string, why: string) => problemIn(field, `is required${why}`)

/** Returns a name if none is sent, because the specification makes every field optional. */
const madeUp = (key: string): string => `user-${key.slice(-8)}`

/** Passphrases are not stored: so a field that a key depends on can change only together with the passphrase. */
function updateProblems(sent: Sent, stored: Fields): readonly FieldProblem[] {
  const newAuth = sent.authAlgorithm !== undefined && sent.authAlgorithm !== stored.authAlgorithm
  const newPrivacy = sent.privacyAlgorithm !== undefined && sent.privacyAlgorithm !== stored.privacyAlgorithm
  const problems: FieldProblem[] = []
  if (newAuth && stored.authKey !== '' && sent.authPassphrase === undefined) {
    problems.push(required('authPassphrase', ' with a different authAlgorithm: the key must be derived again'))
  }
  if ((newAuth || newPrivacy) && stored.privacyKey !== '' && sent.privacyPassphrase === undefined) {
    const of = newAuth ? 'authAlgorithm, which also derives the privacy key' : 'privacyAlgorithm'
    problems.push(required('privacyPassphrase', ` with a different ${of}`))
  }
  return problems
}

/** Keys of the sent passphrases, not yet localised: undefined if none was sent, null to clear. */
interface Masters {
  readonly algorithm: AuthAlgorithm
  readonly auth: Uint8Array | undefined | null
  readonly privacy: Uint8Array | undefined | null
}

async function mastersOf(sent: Sent, algorithm: AuthAlgorithm): Promise<Masters> {
  const keyOf = async (text: string | undefined | null) =>
    typeof text === 'string' ? masterKey(algorithm, text) : text
  return { algorithm, auth: await keyOf(sent.authPassphrase), privacy: await keyOf(sent.privacyPassphrase) }
}

/** Recomputes the keys if another request has changed the algorithm since. */
const stillFitting = async (masters: Masters, sent: Sent, algorithm: AuthAlgorithm): Promise<Masters> =>
  masters.algorithm === algorithm ? masters : mastersOf(sent, algorithm)

/** Returns the engine id of the keys, which is generated when it is first needed. */
function engineOf(settings: ReturnType<typeof settingsOf>): string {
  const stored = settings.settings(SHARED)
  if (stored !== undefined) return stored.engineId
  const engineId = newEngineId()
  settings.put({ ...SNMP_OFF, engineId })
  return engineId
}
const settingsOf = (ctx: ContextOf['stage']) => ctx.section('snmpSettings')

/** Returns the key to store: the stored one if none was sent, '' if it is cleared. */
const keyFrom = (master: Uint8Array | undefined | null, stored: string, made: (master: Uint8Array) => string): string =>
  master === undefined ? stored : master === null ? '' : made(master)

function fieldsFrom(sent: Sent, key: string, stored: Fields, masters: Masters, engineId: string): Fields {
  const wanted = {
    username: sent.username === null ? madeUp(key) : (sent.username ?? stored.username),
    writeAccess: sent.writeAccess ?? stored.writeAccess,
    authAlgorithm: sent.authAlgorithm ?? stored.authAlgorithm,
    privacyAlgorithm: sent.privacyAlgorithm ?? stored.privacyAlgorithm,
  }
  const localised = (master: Uint8Array) => localisedKey(wanted.authAlgorithm, master, engineId)
  const ofPrivacy = (master: Uint8Array) => privacyKey(wanted.authAlgorithm, wanted.privacyAlgorithm, localised(master))
  return {
    ...wanted,
    authKey: keyFrom(masters.auth, stored.authKey, localised),
    privacyKey: keyFrom(masters.privacy, stored.privacyKey, ofPrivacy),
  }
}

function shown(users: SectionReader<'snmpUsers'>): Static<typeof Shown>[] {
  return users.list().map(({ authKey, privacyKey: ofPrivacy, ...user }) => {
    const missing = missingOf({ authKey, privacyKey: ofPrivacy })
    return { ...user, complete: missing.length === 0, missing: [...missing] }
  })
}

function said(user: Fields, created?: string) {
  const missing = missingOf(user)
  const made = created === undefined ? {} : { created }
  if (missing.length === 0) return Reply.with(undefined, made)
  const message = `SNMP user ${user.username} stored; the agent does not know it without ${missing.join(' and ')}`
  return Reply.with(undefined, { ...made, message })
}

export const snmpUsers = [
  endpoint({
    name: 'snmpUsers.list',
    method: 'GET',
    path: '/snmp/users',
    effect: 'read',
    summary: 'List the SNMP users, without their passphrases',
    message: 'SNMP users',
    data: Type.Array(Shown),
    list: { searched: ['username'] },
    handle: (ctx) => shown(ctx.section('snmpUsers')),
  }),
  endpoint({
    name: 'snmpUsers.create',
    method: 'POST',
    path: '/snmp/users',
    effect: 'stage',
    status: 201,
    summary: 'Create an SNMPv3 user; a name is generated if omitted, and a user without both passphrases is incomplete',
    message: 'SNMP user stored',
    body: Body,
    whenNull: CLEARED,
    prepare: (_, { body }) => mastersOf(body, body.authAlgorithm ?? NOBODY.authAlgorithm),
    handle: (ctx, { body }, masters) => {
      const key = newId()
      const user = fieldsFrom(body, key, { ...NOBODY, username: madeUp(key) }, masters, engineOf(settingsOf(ctx)))
      ctx.section('snmpUsers').create({ id: key, ...user })
      return said(user, key)
    },
  }),
  endpoint({
    name: 'snmpUsers.update',
    method: 'PUT',
    path: '/snmp/users/{id}',
    effect: 'stage',
    summary: 'Change an SNMP user; omitted fields keep their value; a different algorithm needs the passphrase again',
    message: 'SNMP user stored',
    body: Body,
    whenNull: CLEARED,
    prepare: (ctx, { params, body }) => {
      const stored = ctx.section('snmpUsers').find(params.id)
      return mastersOf(body, body.authAlgorithm ?? stored?.authAlgorithm ?? NOBODY.authAlgorithm)
    },
    handle: async (ctx, { params, body }, prepared) => {
      const users = ctx.section('snmpUsers')
      const stored = users.get(params.id)
      refuseFields(updateProblems(body, stored))
      const masters = await stillFitting(prepared, body, body.authAlgorithm ?? stored.authAlgorithm)
      const user = fieldsFrom(body, params.id, stored, masters, engineOf(settingsOf(ctx)))
      users.merge(params.id, user)
      return said(user)
    },
  }),
  endpoint({
    name: 'snmpUsers.delete',
    method: 'DELETE',
    path: '/snmp/users/{id}',
    effect: 'stage',
    summary: 'Delete an SNMP user',
    message: 'SNMP user {id} will be deleted with apply',
    handle: (ctx, { params }) => ctx.section('snmpUsers').remove(params.id),
  }),
]
