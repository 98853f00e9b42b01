import { Type } from 'typebox'
import type { Pending } from '../../context/staging.ts'
import { endpoint } from '../../api/endpoint.ts'
import { Reply } from '../../api/reply.ts'
import { closed, Moment, titled } from '../../model/fields.ts'
import { Warning } from '../../model/warning.ts'

const text = (description: string) => Type.String({ description })

const Shown = Type.Unsafe<Readonly<Record<string, unknown>> | null>({
  type: ['object', 'null'],
  description: 'The record; for an update, only its changed fields. Secrets read `**`.',
})

/** Fields that describe a change, pending or planned. */
export const changeFields = {
  op: Type.Enum(['create', 'update', 'delete'], { description: 'What apply will do with the record.' }),
  resource: text('Section of the configuration.'),
  resourceId: text('Id of the record.'),
  name: text('Name of the record.'),
  before: Shown,
  after: Shown,
  effect: text('Cost of the change: runtime, reload, restart or network.'),
  services: Type.Array(text('Service.'), { description: 'Services that apply will affect.' }),
}

const Change = titled('Change', {
  id: text('Id of the change, for DELETE /services/pending/{changeId}.'),
  ...changeFields,
  by: text('E-mail of the user who last edited the change.'),
  alsoBy: Type.Array(text('E-mail.'), {
    description: 'E-mails of other users who edited the change while it was pending.',
  }),
  at: Moment('Time of the last edit, ISO 8601.'),
  pendingOn: Type.Array(text('Id of a node.'), { description: 'Ids of the nodes that the change is pending on.' }),
})

export const FileDiffs = Type.Array(
  titled('FileDiff', { path: text('File.'), diff: text('Unified diff against the running file.') }),
  { description: 'Generated files that would change.' },
)
export const Steps = Type.Array(titled('Step', { kind: text('Kind of step.'), why: text('Purpose of the step.') }), {
  description: 'Steps of the apply, in order.',
})

const PendingData = titled('PendingChanges', {
  revision: Type.Integer({ description: 'Revision that is running.' }),
  count: Type.Integer({ description: 'Number of pending changes.' }),
  changes: Type.Array(Change, { description: 'The changes, oldest first.' }),
  warnings: Type.Array(Warning, { description: 'Warnings to read before applying the changes.' }),
  files: Type.Optional({ ...FileDiffs, description: 'Generated files that would change (with render=true).' }),
  steps: Type.Optional({ ...Steps, description: 'Steps of the apply, in order (with render=true).' }),
})

export const pending = [
  endpoint({
    name: 'services.pending',
    method: 'GET',
    path: '/services/pending',
    effect: 'read',
    extension: true,
    outsideTransactions: true,
    summary: 'Review what apply would change',
    message: 'Pending changes',
    query: closed({
      render: Type.Optional(
        Type.Enum(['true', 'false'], { description: 'Adds the diff of generated files and the steps.' }),
      ),
    }),
    data: PendingData,
    handle: async (ctx, { query }) => {
      if (query.render !== 'true') return listed(await ctx.pending.list())
      const preview = await ctx.pending.preview()
      return { ...listed(preview), files: [...preview.files], steps: [...preview.steps] }
    },
  }),
  endpoint({
    name: 'services.discardAll',
    method: 'DELETE',
    path: '/services/pending',
    effect: 'stage',
    extension: true,
    outsideTransactions: true,
    comparesRevision: false,
    refuses: ['APPLY_IN_PROGRESS', 'NAME_NOT_UNIQUE'],
    summary: 'Discard all pending changes; for each of them the caller needs the right to stage it',
    message: 'Pending changes discarded',
    query: closed({
      mine: Type.Optional(
        Type.Enum(['true', 'false'], {
          description:
            'Only the changes that the caller alone has made; if one concerns users, roles or login settings, all changes to those, as the message says. Default false.',
        }),
      ),
    }),
    handle: (ctx, { query }) => {
      const isMine = query.mine === 'true'
      const { count, others } = ctx.work.discard(isMine ? 'mine' : 'all')
      if (count === 0) return Reply.with(undefined, { message: isMine ? NOTHING_OF_ONES_OWN : 'Nothing is pending' })
      return Reply.with(undefined, toldWith('Your pending changes', others))
    },
  }),
  endpoint({
    name: 'services.discard',
    method: 'DELETE',
    path: '/services/pending/{changeId}',
    effect: 'stage',
    extension: true,
    outsideTransactions: true,
    comparesRevision: false,
    refuses: ['APPLY_IN_PROGRESS', 'NAME_NOT_UNIQUE'],
    summary:
      'Discard one pending change, unless other pending changes need it; changes to users, roles and login settings are discarded together',
    message: 'Pending change {changeId} discarded',
    handle: (ctx, { params }) => {
      const { others } = ctx.work.discard({ id: params.changeId })
      return Reply.with(undefined, toldWith(`Pending change ${params.changeId}`, others))
    },
  }),
  endpoint({
    name: 'services.validate',
    method: 'POST',
    path: '/services/validate',
    effect: 'read',
    extension: true,
    outsideTransactions: true,
    refuses: ['CONFIG_INVALID', 'IN_USE'],
    summary: 'Check the pending changes as apply would, with the programs’ own checkers, without changing anything',
    message: 'The pending changes are valid',
    data: PendingData,
    handle: async (ctx) => listed(await ctx.pending.validate()),
  }),
]

const NOTHING_OF_ONES_OWN = 'Nothing was discarded: no pending change is yours alone; GET /services/pending lists all'

/** Returns the message when further changes were taken back along with the named one. */
const toldWith = (named: string, others: number) =>
  others === 0
    ? {}
    : {
        message: `${named} discarded, and ${others} more to users, roles and login settings, which are discarded together`,
      }

function listed({ revision, changes, warnings }: Pending) {
  const mutable = changes.map((change) => ({
    ...change,
    alsoBy: [...change.alsoBy],
    services: [...change.services],
    pendingOn: [...change.pendingOn],
  }))
  return { revision, count: changes.length, changes: mutable, warnings: [...warnings] }
}
