import { type Static, Type } from 'typebox'
import type { ContextOf, SectionReader } from '../api/context.ts'
import { endpoint } from '../api/endpoint.ts'
import { type FieldProblem, refuseFields } from '../api/refuse.ts'
import { newId } from '../ids.ts'
import { closed } from '../model/fields.ts'
import { SHARED } from '../model/node.ts'
import { SNMP_OFF, SnmpUser } from '../model/snmp.ts'
import { type AuthAlgorithm, localisedKey, masterKey, newEngineId, privacyKey } from '../snmp/keys.ts'

const { id, username, writeAccess, authAlgorithm, privacyAlgorithm } = SnmpUser.properties

const Shown = closed({ id, username, writeAccess, authAlgorithm, privacyAlgorithm })

const passphrase = (what: string) =>
  Type.Optional(
    Type.String({
      minLength: 8,
      maxLength: 255,
      pattern: '^[^\\u0000-\\u001f\\u007f]*$',
      description: `Passphrase of ${what}, 8 to 255 characters. Kept only as a key for this agent, and never answered.`,
    }),
  )

const Body = closed({
  username: Type.Optional(username),
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

const required = (field: string, why = ''): FieldProblem => ({
  field,
  code: 'INVALID_BODY',
  message: `is required${why}`,
})

/** The specification calls every field optional, but nobody can be made without these. */
function createProblems(sent: Sent): readonly FieldProblem[] {
  return (['username', 'authPassphrase', 'privacyPassphrase'] as const)
    .filter((field) => sent[field] === undefined)
    .map((field) => required(field))
}

/** Passphrases are not kept: whatever a key is made of changes together with its passphrase. */
function updateProblems(sent: Sent, stored: Fields): readonly FieldProblem[] {
  const newAuth = sent.authAlgorithm !== undefined && sent.authAlgorithm !== stored.authAlgorithm
  const newPrivacy = sent.privacyAlgorithm !== undefined && sent.privacyAlgorithm !== stored.privacyAlgorithm
  const problems: FieldProblem[] = []
  if (newAuth && sent.authPassphrase === undefined) {
    problems.push(required('authPassphrase', ' with another authAlgorithm: its key is made anew'))
  }
  if ((newAuth || newPrivacy) && sent.privacyPassphrase === undefined) {
    const of = newAuth ? 'authAlgorithm, which makes the key of privacy as well' : 'privacyAlgorithm'
    problems.push(required('privacyPassphrase', ` with another ${of}`))
  }
  return problems
}

/** Keys of the passphrases that were sent, before they belong to an engine. */
interface Masters {
  readonly algorithm: AuthAlgorithm
  readonly auth: Uint8Array | undefined
  readonly privacy: Uint8Array | undefined
}

async function mastersOf(sent: Sent, algorithm: AuthAlgorithm): Promise<Masters> {
  const keyOf = async (text: string | undefined) => (text === undefined ? undefined : masterKey(algorithm, text))
  return { algorithm, auth: await keyOf(sent.authPassphrase), privacy: await keyOf(sent.privacyPassphrase) }
}

/** Another request may have changed the algorithm since the keys were made. */
const stillFitting = async (masters: Masters, sent: Sent, algorithm: AuthAlgorithm): Promise<Masters> =>
  masters.algorithm === algorithm ? masters : mastersOf(sent, algorithm)

/** The engine of the keys: made once, by whoever needs it first. */
function engineOf(settings: ReturnType<typeof settingsOf>): string {
  const stored = settings.settings(SHARED)
  if (stored !== undefined) return stored.engineId
  const engineId = newEngineId()
  settings.put({ ...SNMP_OFF, engineId })
  return engineId
}
const settingsOf = (ctx: ContextOf['stage']) => ctx.section('snmpSettings')

function fieldsFrom(sent: Sent, stored: Fields, masters: Masters, engineId: string): Fields {
  const wanted = {
    username: sent.username ?? stored.username,
    writeAccess: sent.writeAccess ?? stored.writeAccess,
    authAlgorithm: sent.authAlgorithm ?? stored.authAlgorithm,
    privacyAlgorithm: sent.privacyAlgorithm ?? stored.privacyAlgorithm,
  }
  const { auth, privacy } = masters
  const localised = (master: Uint8Array) => localisedKey(wanted.authAlgorithm, master, engineId)
  return {
    ...wanted,
    authKey: auth === undefined ? stored.authKey : localised(auth),
    privacyKey:
      privacy === undefined
        ? stored.privacyKey
        : privacyKey(wanted.authAlgorithm, wanted.privacyAlgorithm, localised(privacy)),
  }
}

function shown(users: SectionReader<'snmpUsers'>): Static<typeof Shown>[] {
  return users.list().map(({ authKey: _authKey, privacyKey: _privacyKey, ...user }) => user)
}

export const snmpUsers = [
  endpoint({
    name: 'snmpUsers.list',
    method: 'GET',
    path: '/snmp/users',
    effect: 'read',
    staged: false,
    summary: 'List the SNMP users; nothing tells their passphrases',
    message: 'SNMP users',
    data: Type.Array(Shown),
    handle: (ctx) => shown(ctx.section('snmpUsers')),
  }),
  endpoint({
    name: 'snmpUsers.create',
    method: 'POST',
    path: '/snmp/users',
    effect: 'stage',
    staged: true,
    status: 201,
    summary: 'Create an SNMP user of version 3; username and both passphrases are needed',
    message: 'SNMP user stored',
    body: Body,
    prepare: (_, { body }) => mastersOf(body, body.authAlgorithm ?? NOBODY.authAlgorithm),
    handle: (ctx, { body }, masters) => {
      refuseFields(createProblems(body))
      const engineId = engineOf(settingsOf(ctx))
      ctx.section('snmpUsers').create({ id: newId(), ...fieldsFrom(body, NOBODY, masters, engineId) })
    },
  }),
  endpoint({
    name: 'snmpUsers.update',
    method: 'PUT',
    path: '/snmp/users/{id}',
    effect: 'stage',
    staged: true,
    summary: 'Change an SNMP user; omitted fields keep their value, and another algorithm needs its passphrase',
    message: 'SNMP user stored',
    body: Body,
    prepare: (ctx, { params, body }) => {
      const stored = ctx.section('snmpUsers').find(params.id)
      return mastersOf(body, body.authAlgorithm ?? stored?.authAlgorithm ?? NOBODY.authAlgorithm)
    },
    handle: async (ctx, { params, body }, prepared) => {
      const users = ctx.section('snmpUsers')
      const stored = users.get(params.id)
      refuseFields(updateProblems(body, stored))
      const masters = await stillFitting(prepared, body, body.authAlgorithm ?? stored.authAlgorithm)
      users.merge(params.id, fieldsFrom(body, stored, masters, engineOf(settingsOf(ctx))))
    },
  }),
  endpoint({
    name: 'snmpUsers.delete',
    method: 'DELETE',
    path: '/snmp/users/{id}',
    effect: 'stage',
    staged: true,
    summary: 'Delete an SNMP user',
    message: 'SNMP user {id} will be deleted with apply',
    handle: (ctx, { params }) => ctx.section('snmpUsers').remove(params.id),
  }),
]
