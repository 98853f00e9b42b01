import { generateKeyPairSync } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { CreatedId, endpoint, NoData } from '../api/endpoint.ts'
import { problemIn, refuseFields } from '../base/errors.ts'
import { newId } from '../base/ids.ts'
import { AcmeAccount, HTTP_PORT, HTTPS_PORT } from '../model/acme.ts'
import { closed } from '../model/fields.ts'
import { thumbprintOf, whyNoRoot } from '../rules/acme.ts'

const { id: Id, privateKey: _, externalAccountBinding, contact, httpPort, tlsPort, ...Common } = AcmeAccount.properties

const Create = closed({
  ...Common,
  externalAccountBinding,
  httpPort: Type.Optional({ ...httpPort, default: HTTP_PORT }),
  tlsPort: Type.Optional({ ...tlsPort, default: HTTPS_PORT }),
  contact: Type.Optional({ ...contact, default: [] }),
})
const Shown = Type.Object(
  {
    id: Id,
    ...Common,
    contact,
    httpPort: Type.Integer({ description: 'Port of this appliance that receives requests to port 80.' }),
    tlsPort: Type.Integer({ description: 'Port of this appliance that receives connections to port 443.' }),
    isBound: Type.Boolean({ description: 'Whether the account is linked to an existing customer account at the CA.' }),
    thumbprint: Type.String({
      description: 'Thumbprint of the account key (RFC 7638), which follows the token in answers to HTTP-01.',
    }),
  },
  { description: 'An account with a CA.' },
)

function shown(account: AcmeAccount): Static<typeof Shown> {
  const { privateKey: _key, externalAccountBinding: binding, ...rest } = account
  const thumbprint = thumbprintOf(account) ?? ''
  const { httpPort: plain = HTTP_PORT, tlsPort: secure = HTTPS_PORT } = account
  return { ...rest, httpPort: plain, tlsPort: secure, isBound: binding !== undefined, thumbprint }
}

/** Returns a key for ES256, which every CA must support (RFC 8555, section 6.2). */
function newKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
}

export const acmeAccounts = [
  endpoint({
    name: 'acmeAccounts.list',
    method: 'GET',
    path: '/certificates/acme/accounts',
    effect: 'read',
    extension: true,
    summary: 'List ACME accounts',
    message: 'ACME accounts',
    list: { searched: ['name'] },
    data: Type.Array(Shown),
    handle: (ctx) => ctx.section('acmeAccounts').list().map(shown),
  }),
  endpoint({
    name: 'acmeAccounts.create',
    method: 'POST',
    path: '/certificates/acme/accounts',
    effect: 'stage',
    extension: true,
    status: 201,
    summary: 'Create an ACME account with its own key; it is registered with the CA by the first order',
    message: 'ACME account stored',
    body: Create,
    data: CreatedId,
    handle: (ctx, { body }) => {
      const refused = ctx.acme.whyRefused(body.directoryUrl)
      refuseFields(refused === undefined ? [] : [problemIn('directoryUrl', refused)])
      const { caCertificate } = body
      const root = caCertificate === undefined ? undefined : whyNoRoot(caCertificate)
      refuseFields(root === undefined ? [] : [problemIn('caCertificate', root)])
      const id = newId()
      ctx.section('acmeAccounts').create({ contact: [], ...body, id, privateKey: newKey() })
      return { id }
    },
  }),
  endpoint({
    name: 'acmeAccounts.get',
    method: 'GET',
    path: '/certificates/acme/accounts/{id}',
    effect: 'read',
    extension: true,
    summary: 'Read an ACME account, without its keys',
    message: 'ACME account',
    data: Shown,
    handle: (ctx, { params }) => shown(ctx.section('acmeAccounts').get(params.id)),
  }),
  endpoint({
    name: 'acmeAccounts.delete',
    method: 'DELETE',
    path: '/certificates/acme/accounts/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Delete an ACME account that no order uses; it remains registered with the CA',
    message: 'ACME account {id} will be deleted with apply',
    data: NoData,
    handle: (ctx, { params }) => {
      ctx.section('acmeAccounts').remove(params.id)
      return []
    },
  }),
]
