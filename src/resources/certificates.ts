import { type Static, Type } from 'typebox'
import type { ContextOf } from '../context/context.ts'
import { CreatedId, endpoint, NoData } from '../api/endpoint.ts'
import { refuseFields } from '../base/errors.ts'
import { Reply } from '../api/reply.ts'
import { formProblems, formsOf, NO_FORM, otherCertificate } from '../rules/certificate-form.ts'
import { newId } from '../base/ids.ts'
import { canonicalIp } from '../base/ip-network.ts'
import { sameText } from '../base/same-text.ts'
import type { Certificate, CertificateRead } from '../model/certificates.ts'
import { closed, Id, Moment, Name, Owner, titled } from '../model/fields.ts'

const text = (description: string) => Type.String({ description })

const upload = {
  pem: Type.Optional(
    text('Certificate, issuers and key as PEM, in any order; at most 256 KiB. Empty counts as absent.'),
  ),
  pfx: Type.Optional(text('PFX (PKCS #12) as base64 instead, up to 256 KiB. Empty counts as absent.')),
  password: Type.Optional(text('Password of the PFX, or of an encrypted private key; secret.')),
  cert: Type.Optional(text('Certificate as PEM instead, with its key in privateKey. Empty counts as absent.')),
  privateKey: Type.Optional(text('Private key of cert as PEM; secret. Empty counts as absent.')),
  otherCerts: Type.Optional(
    Type.Array(text('PEM.'), { maxItems: 40, description: 'Issuers of cert. An empty list counts as absent.' }),
  ),
  force: Type.Optional(Type.Boolean({ description: 'Accepts a certificate that has expired or is not valid yet.' })),
  owner: Owner,
}
const Create = closed({ name: Name, ...upload })
const Update = closed({ name: Type.Optional(Name), ...upload })

const Usage = titled('CertificateUsage', {
  service: text('Name of the service that uses the certificate.'),
  serviceFullName: text('Display name of the service.'),
  serviceId: Type.Union([Id, Type.Null()], {
    description: 'Id of the frontend that uses the certificate; null for other users.',
  }),
  serviceLabel: text('Name of the frontend or other user of the certificate.'),
  serviceNodeId: text('Node on which the certificate is used.'),
})
const Listed = {
  id: Id,
  name: Name,
  certInfo: Type.Object(
    {
      commonName: text('Common name of the subject; empty without one.'),
      organisation: text('Organisation of the subject; empty without one.'),
      country: text('Country of the subject; empty without one.'),
      subjectAlt: Type.Array(text('Host name or address.'), { description: 'Names the certificate is valid for.' }),
    },
    { description: 'Subject of the certificate.' },
  ),
  validFrom: Moment('ISO 8601 with offset.'),
  validTo: Moment('ISO 8601 with offset.'),
  usage: Type.Array(Usage, { description: 'Where the certificate is used, including pending changes.' }),
  owner: Owner,
}
const Whole = Type.Object({
  ...Listed,
  keyType: text('Type and size of the key, such as "rsa 2048" or "ec prime256v1".'),
  fingerprint: text('SHA-256 of the certificate, hexadecimal with colons.'),
  chain: text('PEM: the certificate, followed by its issuers in order.'),
  privateKey: text('PEM of the key, PKCS #8.'),
})

type Reading = Pick<ContextOf['read'], 'section' | 'units' | 'nodeId'>

/** Returns a function that lists the users of a certificate by its id. */
function usages(ctx: Reading): (id: string) => Static<typeof Usage>[] {
  const fullName = (service: string) => ctx.units.list().find(({ name }) => name === service)?.fullName ?? service
  const found = new Map<string, Static<typeof Usage>[]>()
  const add = (id: string, usage: Static<typeof Usage>) => found.set(id, [...(found.get(id) ?? []), usage])
  for (const { id, name, certificates = [] } of ctx.section('l7Frontends').list()) {
    const frontend = {
      service: 'layer7proxy',
      serviceFullName: fullName('layer7proxy'),
      serviceId: id,
      serviceLabel: name,
    }
    for (const certificate of certificates) add(certificate, { ...frontend, serviceNodeId: ctx.nodeId })
  }
  for (const { id, SSLCertificate } of ctx.section('userInterfaces').list()) {
    const label = fullName('webui')
    const usage = { service: 'webui', serviceFullName: label, serviceId: null, serviceLabel: label, serviceNodeId: id }
    if (SSLCertificate !== '') add(SSLCertificate, usage)
  }
  for (const { certificateId } of ctx.section('syslogServers').list()) {
    const frontends = { service: 'layer7proxy', serviceFullName: fullName('layer7proxy'), serviceId: null }
    if (certificateId !== '') add(certificateId, { ...frontends, serviceLabel: 'syslog', serviceNodeId: ctx.nodeId })
  }
  for (const { name, certificateId = '' } of ctx.section('alertTargets').list()) {
    const daemon = { service: 'webui', serviceFullName: fullName('webui'), serviceId: null }
    if (certificateId !== '')
      add(certificateId, { ...daemon, serviceLabel: `alert target ${name}`, serviceNodeId: ctx.nodeId })
  }
  return (id) => found.get(id) ?? []
}

const offset = (date: string) => date.replace(/(\.\d+)?Z$/, '+00:00')

function listed({ id, name, facts, owner }: Certificate, usageOf: ReturnType<typeof usages>) {
  const { commonName, organisation, country, subjectAlt, validFrom, validTo } = facts
  return {
    id,
    name,
    certInfo: { commonName, organisation, country, subjectAlt: subjectAlt.map(canonicalIp) },
    validFrom: offset(validFrom),
    validTo: offset(validTo),
    usage: usageOf(id),
    ...(owner === undefined ? {} : { owner }),
  }
}

type Read = Extract<CertificateRead, { readonly warnings: readonly string[] }>

/** The values that null stands for, like the empty ones. */
const ABSENT = { pem: '', pfx: '', password: '', cert: '', privateKey: '', otherCerts: [], force: false, owner: '' }

/** Reads and checks the sent certificate; undefined if none was sent. */
async function certificateIn(ctx: ContextOf['read'], sent: Static<typeof Update>): Promise<Read | undefined> {
  const forms = formsOf(sent)
  if ('problems' in forms) {
    refuseFields(forms.problems)
    return undefined
  }
  const { password = '', force = false } = sent
  const all = await Promise.all(forms.map((form) => ctx.certificates.read({ upload: form, password, force })))
  refuseFields(all.flatMap((read) => ('problems' in read ? read.problems : [])))
  const reads = all.filter((read) => 'certificate' in read)
  const printOf = (read: Read | undefined) => read?.certificate.facts.fingerprint
  // A certificate belongs to one key only: the same certificate means the same key.
  refuseFields(otherCertificate(forms.filter((_, index) => printOf(reads[index]) !== printOf(reads[0]))))
  return reads.toSorted((a, b) => b.certificate.chain.length - a.certificate.chain.length)[0]
}

/** Allows a key that was read to be sent back without its certificate, whose field is called chain in answers. */
function withoutOwnKey(sent: Static<typeof Update>, stored: Certificate): Static<typeof Update> {
  const isOwn = sent.cert === undefined && sameText(sent.privateKey ?? '', stored.privateKey)
  return isOwn ? { ...sent, privateKey: '' } : sent
}

const ownerOf = ({ owner }: Static<typeof Update>) => (owner === undefined ? {} : { owner })

function answer(id: string, read: Read | undefined) {
  const warnings = read?.warnings ?? []
  return Reply.with({ id }, warnings.length === 0 ? {} : { message: `Certificate stored; but ${warnings.join('; ')}` })
}

export const certificates = [
  endpoint({
    name: 'certificates.list',
    method: 'GET',
    path: '/certificates/certs',
    effect: 'read',
    summary: 'List certificates, with their names and where they are used',
    message: 'Certificates',
    data: Type.Array(Type.Object(Listed)),
    list: { searched: ['name', 'certInfo.commonName', 'certInfo.subjectAlt'] },
    handle: (ctx) => {
      const usageOf = usages(ctx)
      return ctx
        .section('certificates')
        .list()
        .map((certificate) => listed(certificate, usageOf))
    },
  }),
  endpoint({
    name: 'certificates.create',
    method: 'POST',
    path: '/certificates/certs',
    effect: 'stage',
    status: 201,
    refuses: ['CERTIFICATE_EXPIRED', 'KEY_MISMATCH', 'PFX_PASSWORD'],
    summary: 'Upload a certificate with its key: as PEM, as PFX, in parts, or the same in several of these forms',
    message: 'Certificate stored',
    body: Create,
    whenNull: ABSENT,
    rules: formProblems,
    data: CreatedId,
    prepare: async (ctx, { body }) => {
      const read = await certificateIn(ctx, body)
      if (read === undefined) refuseFields(NO_FORM)
      return read
    },
    handle: (ctx, { body }, read) => {
      const id = newId()
      if (read !== undefined)
        ctx.section('certificates').create({ id, name: body.name, ...ownerOf(body), ...read.certificate })
      return answer(id, read)
    },
  }),
  endpoint({
    name: 'certificates.get',
    method: 'GET',
    path: '/certificates/certs/{id}',
    effect: 'read',
    reveals: true,
    summary: 'Read a certificate with its chain and its private key',
    message: 'Certificate',
    data: Whole,
    handle: (ctx, { params }) => {
      const certificate = ctx.section('certificates').get(params.id)
      const { chain, privateKey, facts } = certificate
      const { keyType, fingerprint } = facts
      return { ...listed(certificate, usages(ctx)), keyType, fingerprint, chain, privateKey }
    },
  }),
  endpoint({
    name: 'certificates.update',
    method: 'PUT',
    path: '/certificates/certs/{id}',
    effect: 'stage',
    extension: true,
    refuses: ['CERTIFICATE_EXPIRED', 'KEY_MISMATCH', 'PFX_PASSWORD'],
    summary: 'Replace a certificate wherever it is used, or rename it',
    message: 'Certificate stored',
    body: Update,
    whenNull: ABSENT,
    data: CreatedId,
    prepare: (ctx, { params, body }) => {
      return certificateIn(ctx, withoutOwnKey(body, ctx.section('certificates').get(params.id)))
    },
    handle: (ctx, { params, body }, read) => {
      ctx.section('certificates').merge(params.id, { name: body.name, owner: body.owner, ...read?.certificate })
      return answer(params.id, read)
    },
  }),
  endpoint({
    name: 'certificates.delete',
    method: 'DELETE',
    path: '/certificates/certs/{id}',
    effect: 'stage',
    extension: true,
    summary: 'Delete a certificate that is not used',
    message: 'Certificate {id} will be deleted with apply',
    data: NoData,
    handle: (ctx, { params }) => {
      ctx.section('certificates').remove(params.id)
      return []
    },
  }),
]
