import { type Static, Type } from 'typebox'
import type { Restoration } from '../context/backups.ts'
import type { ContextOf } from '../context/context.ts'
import { endpoint } from '../api/endpoint.ts'
import { accept, Reply } from '../api/reply.ts'
import { ApiError } from '../base/errors.ts'
import { closed, Ip, Moment, titled } from '../model/fields.ts'

const MIB = 1024 * 1024
/** 64 MiB of file, plus the backslashes that quotes need in JSON text. */
const UPLOAD_BYTES_MAX = 96 * MIB
const PASSPHRASE = 'x-backup-passphrase'
/** A shorter passphrase can be guessed; other characters in a header do not reach all machines alike. */
const PASSPHRASE_FORM = /^[\x20-\x7e]{8,256}$/

const text = (description: string) => Type.String({ description })

const Entry = titled('Backup', {
  file: text('Name of the file, for restoring and deleting it.'),
  dateTime: text('When the backup was created, DD/MM/YYYY HH:MM:SS +0000.'),
  nodes: Type.Array(Type.Object({ id: text('Node.'), hostname: text('Host name of the node.') }), {
    description: 'Nodes in the backup.',
  }),
  sections: Type.Array(
    Type.Object({
      name: text('Name of the section, for a partial restore.'),
      nameFull: text('Display name of the section.'),
      version: Type.Integer({ description: 'Version of the section in this file.' }),
      partRestore: Type.Boolean({ description: 'Whether the section can be restored alone.' }),
    }),
    { description: 'Sections of the backup.' },
  ),
})

const BackupFile = Type.Object(
  {
    format: Type.Literal(1, { description: 'Version of the file format.' }),
    createdAt: Moment('When the backup was created, ISO 8601.'),
    applianceVersion: text('Version of the software that created the backup.'),
    nodes: Type.Array(Type.Object({ id: text('Node.'), hostname: text('Host name of the node.') }), {
      description: 'Nodes in the backup.',
    }),
    sections: Type.Record(
      Type.String(),
      Type.Object({
        version: Type.Integer({ description: 'Version of the section.' }),
        data: Type.Record(Type.String(), Type.Unknown(), {
          description: 'Records of the section; with a passphrase, the encryption parameters and the ciphertext.',
        }),
      }),
      { description: 'Sections by name.' },
    ),
    checksum: text('SHA-256 of the rest in canonical form, hexadecimal.'),
  },
  { title: 'BackupFile', description: 'A backup file.' },
)

const RestoreBody = closed({
  file: Type.String({ minLength: 1, maxLength: 128, description: 'Name of the backup, see GET /backup/list.' }),
  nodeId: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'Node of the backup that this node becomes (full restore); default: the only node of the file.',
    }),
  ),
  ip: Type.Optional(Ip),
  mask: Type.Optional(Type.Integer({ minimum: 1, maximum: 128, description: 'Prefix length of ip, 1 to 32 or 128.' })),
  gateway: Type.Optional(Ip),
  interface: Type.Optional(Type.String({ maxLength: 64, description: 'Interface (id or name) for ip.' })),
  sections: Type.Optional(
    Type.Array(Type.String({ maxLength: 64, description: 'Section.' }), {
      minItems: 1,
      maxItems: 64,
      uniqueItems: true,
      description: 'Sections to restore; omit for a full restore.',
    }),
  ),
  fipActive: Type.Optional(
    Type.Boolean({ description: 'Whether floating IPs are enabled as they were (partial restore). Default false.' }),
  ),
})

/** Returns the passphrase of an existing backup, in any form; undefined if the header is absent. */
const passphraseIn = (headers: Readonly<Record<string, string>>): string | undefined =>
  headers[PASSPHRASE] === '' ? undefined : headers[PASSPHRASE]

function newPassphrase(headers: Readonly<Record<string, string>>): string | undefined {
  const passphrase = passphraseIn(headers)
  if (passphrase === undefined || PASSPHRASE_FORM.test(passphrase)) return passphrase
  const message = 'must be 8 to 256 printable ASCII characters'
  throw new ApiError('INVALID_QUERY', `The header X-Backup-Passphrase ${message}`, {
    errors: [{ field: 'X-Backup-Passphrase', code: 'FORMAT', message }],
  })
}

async function restore(ctx: ContextOf['stage'], body: Static<typeof RestoreBody>, restoration: () => Restoration) {
  ctx.transactions.refuseOpen()
  const { contents, isFull, ...told } = restoration()
  await ctx.work.restore(contents)
  if (isFull) {
    const { job, start } = await ctx.restoreChecks.prepare({ ...told, file: body.file }, ctx.actor.email)
    ctx.work.afterwards(start)
    return accept(job, undefined, { message: `All of ${body.file} is staged; the job validates it` })
  }
  const list = (body.sections ?? []).join(', ')
  return Reply.with(undefined, { message: `${list} of ${body.file}: staged, see GET /services/pending` })
}

const DELETES = [
  { name: 'backups.deleteAll', path: '/backup', which: 'all', what: 'every backup file, uploaded and automatic' },
  { name: 'backups.deleteAutomatic', path: '/backup/auto', which: 'auto', what: 'the automatic backups' },
  { name: 'backups.deleteUploads', path: '/backup/uploads', which: 'uploads', what: 'the uploaded backups' },
] as const

export const backups = [
  endpoint({
    name: 'backups.get',
    method: 'GET',
    path: '/backup',
    effect: 'read',
    reveals: true,
    summary:
      'Download the running configuration as a backup file; without the header X-Backup-Passphrase its private keys and other secrets are not encrypted',
    message:
      'The backup file. Without X-Backup-Passphrase it contains private keys, shared secrets and password hashes in plain text, as X-Backup-Warning says: store it where nobody else can read it.',
    sends: ['Content-Disposition', 'X-Backup-Warning'],
    whole: BackupFile,
    headers: [PASSPHRASE],
    handle: async (ctx, { headers }) => Reply.bytes(await ctx.backups.make(newPassphrase(headers))),
  }),
  endpoint({
    name: 'backups.list',
    method: 'GET',
    path: '/backup/list',
    effect: 'read',
    summary: 'List backup files with their nodes and sections',
    message: 'Backups',
    data: Type.Object({
      uploads: Type.Array(Entry, { description: 'Uploaded backups, newest first.' }),
      auto: Type.Array(Entry, { description: 'Automatic backups, newest first.' }),
    }),
    handle: (ctx) => ctx.backups.list(),
  }),
  endpoint({
    name: 'backups.upload',
    method: 'POST',
    path: '/backup/upload',
    effect: 'act',
    staged: true,
    bodyBytes_max: UPLOAD_BYTES_MAX,
    summary: 'Store a backup file after validating its content',
    message: 'Backup stored',
    body: closed({ backup: Type.String({ minLength: 1, description: 'Text of the file, at most 64 MiB.' }) }),
    handle: async (ctx, { body }) => {
      const file = await ctx.backups.upload(body.backup)
      return Reply.with(undefined, { message: `Backup stored as ${file}` })
    },
  }),
  endpoint({
    name: 'backups.restore',
    method: 'POST',
    path: '/backup/restore',
    effect: 'stage',
    outsideTransactions: true,
    managedOnly: true,
    refuses: ['JOB_IN_PROGRESS', 'APPLY_IN_PROGRESS', 'IN_USE'],
    summary:
      'Stage sections of a backup, or on a single node the whole backup (202 with a job that validates it); activate it with apply',
    message: 'The backup is staged',
    headers: [PASSPHRASE],
    body: RestoreBody,
    mayGoOn: true,
    prepare: async (ctx, { body, headers }) => {
      ctx.transactions.refuseOpen()
      return ctx.backups.opened(body, passphraseIn(headers))
    },
    handle: (ctx, { body }, restoration) => restore(ctx, body, restoration),
  }),
  ...DELETES.map(({ name, path, which, what }) =>
    endpoint({
      name,
      method: 'DELETE',
      path,
      effect: 'act',
      staged: true,
      summary: `Delete ${what}`,
      message: `Deleted ${what}`,
      handle: (ctx) => ctx.backups.removeAll(which),
    }),
  ),
  endpoint({
    name: 'backups.delete',
    method: 'DELETE',
    path: '/backup/{filename}',
    effect: 'act',
    staged: true,
    summary: 'Delete one backup file',
    message: 'Backup {filename} deleted',
    handle: (ctx, { params }) => ctx.backups.remove(params.filename),
  }),
]
