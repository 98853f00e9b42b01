import { Type } from 'typebox'
import type { Started } from '../api/machine-lifecycle.ts'
import { endpoint } from '../api/endpoint.ts'
import { accepted, StartedJob } from '../api/reply.ts'
import { closed } from '../model/fields.ts'

const PATH = '/{applianceId}/lvmsnapshots'

const Snapshot = Type.Object({
  created: Type.String({ description: 'YYYY-MM-DD HH:MM:SS +0000; empty when there is none.' }),
  status: Type.Enum(['none', 'creating', 'available', 'merging', 'invalid'], {
    description: 'merging: it is restored with the next start of the machine; invalid: it was full and is of no use.',
  }),
  size: Type.String({ description: 'Such as 600.00 MiB; empty when there is none.' }),
  used: Type.String({ description: 'Such as 12.34%; empty when there is none, or while nobody can tell.' }),
})

const begun = ({ job, isDryRun }: Started) =>
  isDryRun
    ? accepted(job, {
        message: 'Recorded only: the trial profile changes no volumes of this machine',
        headers: { 'X-Dry-Run': 'true' },
      })
    : accepted(job)

export const lvmSnapshots = [
  endpoint({
    name: 'lvmSnapshots.get',
    method: 'GET',
    path: PATH,
    effect: 'read',
    staged: false,
    summary: 'State of the snapshot of the root file system',
    message: 'Snapshot',
    data: Snapshot,
    handle: async (ctx) => ({ ...(await ctx.lifecycle.snapshots.status()) }),
  }),
  endpoint({
    name: 'lvmSnapshots.create',
    method: 'POST',
    path: PATH,
    effect: 'act',
    staged: true,
    status: 202,
    summary: 'Make a snapshot of the root file system',
    message: 'The snapshot is being made',
    data: StartedJob,
    handle: async (ctx) => begun(await ctx.lifecycle.snapshots.create(ctx.actor.email)),
  }),
  endpoint({
    name: 'lvmSnapshots.restore',
    method: 'PUT',
    path: PATH,
    effect: 'act',
    staged: true,
    status: 202,
    summary: 'Have the root file system be as the snapshot with the next start of the machine, which is now',
    message: 'The snapshot is being restored',
    body: closed({
      reboot: Type.Optional(
        Type.Boolean({ default: true, description: 'Restart now; false leaves that to you. Default true.' }),
      ),
    }),
    data: StartedJob,
    handle: async (ctx, { body }) => begun(await ctx.lifecycle.snapshots.restore(body.reboot ?? true, ctx.actor.email)),
  }),
  endpoint({
    name: 'lvmSnapshots.delete',
    method: 'DELETE',
    path: PATH,
    effect: 'act',
    staged: true,
    status: 202,
    summary: 'Delete the snapshot',
    message: 'The snapshot is being deleted',
    data: StartedJob,
    handle: async (ctx) => begun(await ctx.lifecycle.snapshots.remove(ctx.actor.email)),
  }),
]
