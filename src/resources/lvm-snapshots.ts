import { Type } from 'typebox'
import { endpoint, NoData } from '../api/endpoint.ts'
import { begun } from '../api/reply.ts'
import { closed } from '../model/fields.ts'

const PATH = '/{applianceId}/lvmsnapshots'

const Snapshot = Type.Object({
  created: Type.String({ description: 'YYYY-MM-DD HH:MM:SS +0000; empty if there is none.' }),
  status: Type.Enum(['none', 'creating', 'available', 'merging', 'invalid'], {
    description:
      'merging: it is restored at the next start of the machine; invalid: it is full and can no longer be used.',
  }),
  size: Type.String({ description: 'Size, such as 600.00 MiB; empty if there is none.' }),
  used: Type.String({ description: 'Used part, such as 12.34%; empty if there is none, or while it is unknown.' }),
})

const RECORDED = 'Recorded only: the trial profile changes no volumes of this machine'

export const lvmSnapshots = [
  endpoint({
    name: 'lvmSnapshots.get',
    method: 'GET',
    path: PATH,
    effect: 'read',
    refuses: ['NOT_SUPPORTED'],
    summary: 'Read the state of the snapshot of the root file system',
    message: 'Snapshot',
    data: Snapshot,
    handle: async (ctx) => ({ ...(await ctx.snapshots.status()) }),
  }),
  endpoint({
    name: 'lvmSnapshots.create',
    method: 'POST',
    path: PATH,
    effect: 'act',
    staged: true,
    status: 202,
    managedOnly: true,
    refuses: ['JOB_IN_PROGRESS', 'NAME_NOT_UNIQUE'],
    summary: 'Create a snapshot of the root file system',
    about: 'Needs LVM and free space in the volume group; the job shows the progress',
    message: 'The snapshot is being created',
    handle: async (ctx) => begun(await ctx.snapshots.create(ctx.actor.email), undefined, RECORDED),
  }),
  endpoint({
    name: 'lvmSnapshots.restore',
    method: 'PUT',
    path: PATH,
    effect: 'act',
    staged: true,
    status: 202,
    managedOnly: true,
    refuses: ['JOB_IN_PROGRESS'],
    summary: 'Restore the root file system from the snapshot, and restart the machine',
    message: 'The snapshot is being restored',
    body: closed({
      reboot: Type.Optional(
        Type.Boolean({
          default: true,
          description: 'Whether the machine restarts immediately; false leaves that to you. Default true.',
        }),
      ),
    }),
    data: NoData,
    handle: async (ctx, { body }) =>
      begun(await ctx.snapshots.restore(body.reboot ?? true, ctx.actor.email), [], RECORDED),
  }),
  endpoint({
    name: 'lvmSnapshots.delete',
    method: 'DELETE',
    path: PATH,
    effect: 'act',
    staged: true,
    status: 202,
    managedOnly: true,
    refuses: ['JOB_IN_PROGRESS'],
    summary: 'Delete the snapshot',
    about: 'The root file system stays as it is, and can no longer be restored',
    message: 'The snapshot is being deleted',
    handle: async (ctx) => begun(await ctx.snapshots.remove(ctx.actor.email), undefined, RECORDED),
  }),
]
