import { type Static, Type } from 'typebox'
import type { ContextOf } from '../context/context.ts'
import { endpoint, NoData } from '../api/endpoint.ts'
import { ApiError, type FieldProblem, problemIn, refuseFields } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { CipherList } from '../model/certificates.ts'
import { closed, Id, Name, optional, Owner } from '../model/fields.ts'

const Suite = Type.String({ description: 'OpenSSL name of a cipher suite.' })

const Shown = Type.Object(
  {
    id: Id,
    cipherList: Type.Array(Suite, { description: 'Cipher suites, in order of preference.' }),
    label: Name,
    owner: Owner,
  },
  { description: 'A cipher list.' },
)
const shown = ({ id, name, ciphers, owner }: CipherList): Static<typeof Shown> => ({
  id,
  cipherList: ciphers,
  label: name,
  ...(owner === undefined ? {} : { owner }),
})

const { name } = CipherList.properties
const Fields = {
  name,
  // Names are checked one by one, so that a refusal says which of them are unknown.
  ciphers: Type.Array(Type.String({ maxLength: 64, description: 'Name of a cipher suite, see GET /ciphers.' }), {
    minItems: 1,
    maxItems: 256,
    description: 'Cipher suites, in order of preference; those of TLS 1.3 and TLS 1.2 in one list.',
  }),
  owner: Owner,
}

/** A change also accepts the field names of an answer. */
const Update = closed(optional({ ...Fields, label: Fields.name, cipherList: Fields.ciphers }))

async function suitesOf({ machine }: Pick<ContextOf['read'], 'machine'>) {
  const suites = await machine.cipherSuites()
  if (suites !== undefined) return suites
  throw new ApiError(
    'NOT_SUPPORTED',
    'The program openssl, which lists the cipher suites, is not installed on this machine',
  )
}

/** Refuses names that HAProxy's OpenSSL does not know, and repeated names. */
async function refuseUnknown(ctx: Pick<ContextOf['read'], 'machine'>, names: readonly string[] | undefined) {
  if (names === undefined) return
  const known = new Set((await suitesOf(ctx)).map((suite) => suite.name))
  const problems = names.flatMap((sent, index): FieldProblem[] => {
    const about = (message: string) => [problemIn(`ciphers.${index}`, message)]
    if (!known.has(sent))
      return about('is not a cipher suite that HAProxy can use on this machine; GET /ciphers lists them')
    return names.indexOf(sent) < index ? about('is already in the list') : []
  })
  refuseFields(problems)
}

export const cipherLists = [
  endpoint({
    name: 'ciphers.list',
    method: 'GET',
    path: '/ciphers',
    effect: 'read',
    refuses: ['NOT_SUPPORTED'],
    summary: 'List the cipher suites that HAProxy can use on this machine',
    message: 'Cipher suites',
    data: Type.Object({
      ciphers: Type.Array(Suite, { description: 'All cipher suites, in the order of OpenSSL.' }),
      tls13: Type.Array(Suite, { description: 'Cipher suites of TLS 1.3.' }),
      tls12: Type.Array(Suite, { description: 'Cipher suites of TLS 1.2 and older versions.' }),
    }),
    handle: async (ctx) => {
      const suites = await suitesOf(ctx)
      const names = (isWanted: boolean) =>
        suites.filter(({ isTls13 }) => isTls13 === isWanted).map((suite) => suite.name)
      return { ciphers: suites.map((suite) => suite.name), tls13: names(true), tls12: names(false) }
    },
  }),
  endpoint({
    name: 'cipherLists.list',
    method: 'GET',
    path: '/ciphers/lists',
    effect: 'read',
    summary: 'List cipher lists',
    message: 'Cipher lists',
    data: Type.Object({ ciphersLists: Type.Array(Shown, { description: 'All cipher lists.' }) }),
    list: { searched: ['label'] },
    handle: (ctx) => ({ ciphersLists: ctx.section('cipherLists').list().map(shown) }),
  }),
  endpoint({
    name: 'cipherLists.create',
    method: 'POST',
    path: '/ciphers/lists',
    effect: 'stage',
    status: 201,
    summary: 'Create a cipher list for frontends',
    message: 'Cipher list stored',
    body: closed(Fields),
    data: Type.Object({ cipherListID: Id }),
    prepare: (ctx, { body }) => refuseUnknown(ctx, body.ciphers),
    handle: (ctx, { body }) => {
      const id = newId()
      ctx.section('cipherLists').create({ id, ...body })
      return { cipherListID: id }
    },
  }),
  endpoint({
    name: 'cipherLists.get',
    method: 'GET',
    path: '/ciphers/lists/{id}',
    effect: 'read',
    summary: 'Read a cipher list',
    message: 'Cipher list',
    data: Type.Object({ CiphersList: Shown }),
    handle: (ctx, { params }) => ({ CiphersList: shown(ctx.section('cipherLists').get(params.id)) }),
  }),
  endpoint({
    name: 'cipherLists.update',
    method: 'PUT',
    path: '/ciphers/lists/{id}',
    effect: 'stage',
    summary: 'Change a cipher list; omitted fields keep their value',
    message: 'Cipher list stored',
    body: Update,
    spellings: { label: 'name', cipherList: 'ciphers' },
    whenNull: { owner: '' },
    data: Type.Object({ userCipherList: Shown }),
    prepare: (ctx, { body }) => refuseUnknown(ctx, body.ciphers),
    handle: (ctx, { params, body }) => {
      const lists = ctx.section('cipherLists')
      lists.merge(params.id, { name: body.name, ciphers: body.ciphers, owner: body.owner })
      return { userCipherList: shown(lists.get(params.id)) }
    },
  }),
  endpoint({
    name: 'cipherLists.delete',
    method: 'DELETE',
    path: '/ciphers/lists/{id}',
    effect: 'stage',
    summary: 'Delete a cipher list that no frontend names',
    message: 'Cipher list {id} will be deleted with apply',
    data: NoData,
    handle: (ctx, { params }) => {
      ctx.section('cipherLists').remove(params.id)
      return []
    },
  }),
]
