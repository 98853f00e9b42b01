import { type TObject, Type } from 'typebox'
import { taggedDocument } from '../../api/documents.ts'
import { type Endpoint, endpoint } from '../../api/endpoint.ts'
import { plain } from '../../api/openapi-responses.ts'
import { Reply } from '../../api/reply.ts'
import { ApiError } from '../../base/errors.ts'
import { lazy } from '../../base/lazy.ts'
import type { PlannedEdits } from '../../context/plans.ts'
import type { Rendered } from '../../context/rendered.ts'
import { closed, Moment, Owner, titled } from '../../model/fields.ts'
import { importHaproxyCfg } from '../../haproxy-cfg/import.ts'
import type { SectionName } from '../../model/sections.ts'
import { Warning } from '../../model/warning.ts'
import { answerApplied, Applied, applyTerms } from './apply.ts'
import { type ConfigDocument, documentSchema, exported } from './document.ts'
import { type Kinds, kindsOf } from './kinds.ts'
import { Replay } from './replay.ts'
import { changeFields, FileDiffs, Steps } from './pending.ts'

const text = (description: string) => Type.String({ description })

/** A document of 20,000 records is about 4 MiB. */
const DOCUMENT_BYTES_MAX = 16 * 1024 * 1024
const CFG_BYTES_MAX = 1024 * 1024

const Plan = titled('Plan', {
  planId: text('Id of the plan, for PUT /config/plans/{id}/apply on the answering node.'),
  baseRevision: Type.Integer({
    description: 'Running revision when the plan was made; on any other one the plan is refused.',
  }),
  digest: text('SHA-256 of the changes, hexadecimal: equal for plans with the same changes.'),
  expiresAt: Moment('ISO 8601. A plan lasts 15 minutes, and does not survive a restart of the daemon.'),
  changes: Type.Array(titled('PlannedChange', changeFields), {
    description: 'Planned changes; empty if nothing would change.',
  }),
  warnings: Type.Array(Warning, { description: 'Warnings to read before applying the plan.' }),
  files: FileDiffs,
  steps: Steps,
})

/** Returns the requested sections in their fixed order. */
function sectionsIn(asked: string | undefined, known: readonly SectionName[]): readonly SectionName[] {
  if (asked === undefined) return known
  const wanted = asked.split(',')
  const unknown = wanted.filter((name) => !known.some((one) => one === name))
  if (unknown.length === 0) return known.filter((one) => wanted.includes(one))
  const message = `names unknown sections: ${unknown.join(', ')}; known are ${known.join(', ')}`
  throw new ApiError('INVALID_QUERY', `The query has 1 problem: sections ${message}`, {
    errors: [{ field: 'sections', code: 'NOT_ALLOWED', message }],
  })
}

/** Turns a problem of a record into one of its place in the document. */
function ofDocument(error: unknown, sections: readonly SectionName[]): unknown {
  if (!(error instanceof ApiError)) return error
  const errors = error.details.errors?.map((one) => {
    const isRecord = sections.some((section) => one.field.startsWith(`${section}.`))
    return isRecord ? { ...one, field: `document.${one.field}` } : one
  })
  return new ApiError(error.code, error.message, { ...error.details, ...(errors && { errors }) })
}

const schemaBytes = (schema: TObject): Rendered =>
  taggedDocument(
    JSON.stringify({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      title: 'Configuration of Fulcrum',
      ...plain(schema),
    }),
    'application/schema+json',
  )

function reading(kinds: Kinds, Document: TObject): readonly Endpoint[] {
  const schema = lazy(() => schemaBytes(Document))
  return [
    endpoint({
      name: 'config.document',
      method: 'GET',
      path: '/config/document',
      effect: 'read',
      extension: true,
      summary:
        'Export the configuration as one document, with names instead of ids and without secrets; fields with default values are omitted',
      message: 'Configuration',
      query: closed({
        sections: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 1024,
            description: 'Only these sections, separated by commas. Default all.',
          }),
        ),
        owner: Type.Optional({
          ...Owner,
          description: 'Only the records of this owner, without settings; empty: records without an owner.',
        }),
      }),
      data: Document,
      handle: async (ctx, { query }) =>
        (await exported(ctx, kinds, {
          sections: sectionsIn(query.sections, kinds.sections),
          owner: query.owner,
        })) as never,
    }),
    endpoint({
      name: 'config.schema',
      method: 'GET',
      path: '/config/schema.json',
      effect: 'read',
      access: 'public',
      extension: true,
      isTagged: true,
      produces: ['application/schema+json'],
      summary: 'JSON schema of configuration documents, for editors',
      message: 'The schema itself, without an envelope.',
      handle: () => Reply.bytes(schema()),
    }),
  ]
}

const planning = (kinds: Kinds, Document: TObject) =>
  endpoint({
    name: 'config.plan',
    method: 'POST',
    path: '/config/plan',
    effect: 'read',
    extension: true,
    managedOnly: true,
    outsideTransactions: true,
    bodyBytes_max: DOCUMENT_BYTES_MAX,
    atOnce: { what: 'plans', all_max: 4, each_max: 2 },
    refuses: ['CONFIG_INVALID', 'DEPENDS_ON_PENDING', 'IN_USE', 'NAME_NOT_UNIQUE', 'NOT_SUPPORTED'],
    summary:
      'Plan the changes that a document would make, checked like an apply, without changing anything; needs the rights for those changes',
    message: 'Plan',
    body: closed({
      document: Document,
      prune: Type.Optional(
        Type.Boolean({
          description:
            'Deletes records of the owner of the document that are not in it. Default false: nothing is deleted.',
        }),
      ),
      takeOver: Type.Optional(
        Type.Boolean({
          description:
            'Changes records of the document that have another owner, or none, and assigns them to the owner of the document. Default false: they are refused.',
        }),
      ),
    }),
    data: Plan,
    handle: async (ctx, { body }) => {
      const { prune = false, takeOver = false } = body
      const document = body.document as ConfigDocument
      if (prune && !document.owner) {
        const message = 'needs a document with an owner: records without an owner are never deleted'
        throw new ApiError('INVALID_BODY', `The body has 1 problem: prune ${message}`, {
          errors: [{ field: 'prune', code: 'OWNER_NEEDED', message }],
        })
      }
      const replay = (edits: PlannedEdits) => new Replay(ctx, edits, { kinds, document, prune, takeOver }).run()
      const plan = await ctx.plans.make(replay, ctx).catch((error: unknown) => {
        throw ofDocument(error, kinds.sections)
      })
      const { changes, warnings, files, steps, ...head } = plan
      const data = {
        ...head,
        changes: changes.map((change) => ({ ...change, services: [...change.services] })),
        warnings: [...warnings],
        files: [...files],
        steps: [...steps],
      }
      return Reply.with(data, changes.length === 0 ? { message: 'Nothing would change' } : {})
    },
  })

const applying = endpoint({
  name: 'config.applyPlan',
  method: 'PUT',
  path: '/config/plans/{id}/apply',
  effect: 'apply',
  extension: true,
  managedOnly: true,
  refuses: ['DEPENDS_ON_PENDING', 'WARNINGS', 'REVISION_MISMATCH', 'IN_USE', 'NAME_NOT_UNIQUE', 'ID_NOT_UNIQUE'],
  summary:
    'Apply exactly the changes of a plan on every node; refused if the running configuration has changed since; needs the rights for those changes',
  message: 'Plan applied',
  body: closed(applyTerms),
  data: Applied,
  handle: async (ctx, { params, body }) => {
    const { force: isForced, ...terms } = body
    return answerApplied(ctx, await ctx.plans.apply(params.id, { ...terms, isForced }, ctx))
  },
})

const lines = (description: string) =>
  Type.Array(
    Type.Object({
      line: Type.Integer({ description: 'Line number, starting at 1.' }),
      text: text('Text of the line.'),
      why: text('Remark on the line.'),
    }),
    { description },
  )

const importing = endpoint({
  name: 'config.import',
  method: 'POST',
  path: '/config/import',
  effect: 'read',
  extension: true,
  outsideTransactions: true,
  atOnce: { what: 'imports', all_max: 2, each_max: 1 },
  summary: 'Convert a haproxy.cfg into a document for POST /config/plan, without changing anything',
  message: 'haproxy.cfg read',
  body: closed({
    haproxyCfg: Type.String({ minLength: 1, maxLength: CFG_BYTES_MAX, description: 'The text of the file.' }),
    owner: Owner,
  }),
  data: Type.Object({
    document: Type.Record(Type.String(), Type.Unknown(), { description: 'See GET /config/schema.json.' }),
    certificates: Type.Array(
      Type.Object({ name: text('Name in the document.'), path: text('Path of the PEM file in haproxy.cfg.') }),
      { description: 'Certificates that the document names but does not contain: add them to it, or upload them.' },
    ),
    notUnderstood: lines('Lines that were not converted.'),
    remarks: lines('Lines whose meaning changes, or that Fulcrum handles in another way.'),
  }),
  handle: async (_ctx, { body }) => {
    const { document, certificates, notUnderstood, remarks } = await importHaproxyCfg(body.haproxyCfg)
    const owned = body.owner === undefined ? document : { ...document, owner: body.owner }
    return {
      document: owned,
      certificates: [...certificates],
      notUnderstood: [...notUnderstood],
      remarks: [...remarks],
    }
  },
})

/** Endpoints for the configuration as one document; `table` has the endpoints that make its records. */
export function configDocument(table: readonly Endpoint[]): readonly Endpoint[] {
  const kinds = kindsOf(table)
  const Document = documentSchema(kinds)
  return [...reading(kinds, Document), planning(kinds, Document), applying, importing]
}
