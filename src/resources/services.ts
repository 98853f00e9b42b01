import { type Static, Type } from 'typebox'
import { endpoint, NoData } from '../api/endpoint.ts'
import { begun, dryRun, type Reply } from '../api/reply.ts'
import type { PackageUpdated } from '../context/machine-care.ts'
import { closed } from '../model/fields.ts'

const text = (description: string) => Type.String({ description })

const ServiceEntry = Type.Object({
  name: text('Name in the paths of this API.'),
  fullName: text('Display name.'),
  canReload: Type.Boolean({ description: 'Whether the service can load a new configuration without a restart.' }),
  canUpdate: Type.Boolean({ description: 'Whether the package of the service can be updated through this API.' }),
})

function operated(
  service: string,
  verb: string,
  { isDryRun }: { readonly isDryRun: boolean },
): Reply<never[]> | never[] {
  if (!isDryRun) return []
  return dryRun([], `Recorded only: the trial profile does not ${verb} ${service} on this machine`)
}

const Force = closed({
  force: Type.Optional(
    Type.Enum(['true', 'false'], {
      description: 'Proceed even if the other nodes of the cluster cannot work without this one (extension).',
    }),
  ),
})

function updated(service: string, { job, isDryRun }: PackageUpdated): Reply<never[]> | never[] {
  const recorded = `Recorded only: the trial profile does not update ${service} on this machine`
  if (job !== undefined) return begun({ job, isDryRun }, [], recorded)
  return isDryRun ? dryRun([], recorded) : []
}

const VERBS = [
  {
    verb: 'reload',
    summary: 'Reload a service',
    done: 'reloaded',
    about: 'The program rereads its files without dropping connections; pending changes stay pending',
  },
  {
    verb: 'restart',
    summary: 'Restart a service',
    done: 'restarted',
    about: 'The program stops and starts again, which ends its connections; pending changes stay pending',
  },
] as const

const operations = VERBS.flatMap(({ verb, summary, done, about }) => [
  endpoint({
    name: `services.${verb}`,
    method: 'PUT',
    path: `/services/{service}/${verb}`,
    effect: 'act',
    staged: false,
    managedOnly: true,
    refuses: ['CONFIG_INVALID', 'APPLY_IN_PROGRESS', 'APPLY_PARTIAL'],
    summary: `${summary} on every node`,
    about,
    message: `Service {service} ${done} on every node`,
    data: NoData,
    handle: async (ctx, { params: { service } }) => {
      const here = await ctx.units.operate(service, verb, ctx.actor.email)
      await ctx.cluster.onOthers('PUT', (nodeId) => `/api/v1/${nodeId}/services/${service}/${verb}`, ctx)
      return operated(service, verb, here)
    },
  }),
  endpoint({
    name: `services.${verb}OnNode`,
    method: 'PUT',
    path: `/{applianceId}/services/{service}/${verb}`,
    effect: 'act',
    staged: false,
    managedOnly: true,
    refuses: ['CONFIG_INVALID', 'APPLY_IN_PROGRESS', 'APPLY_PARTIAL'],
    summary: `${summary} on one node`,
    about,
    message: `Service {service} ${done} on one node`,
    data: NoData,
    handle: async (ctx, { params }) =>
      operated(params.service, verb, await ctx.units.operate(params.service, verb, ctx.actor.email)),
  }),
])

const UPDATED =
  'Installs the newest package of the program from the repositories; longer updates continue as a job (202)'

const updates = [
  endpoint({
    name: 'services.update',
    method: 'PUT',
    path: '/services/{service}/update',
    effect: 'act',
    staged: true,
    managedOnly: true,
    mayGoOn: true,
    refuses: ['APPLY_IN_PROGRESS', 'JOB_IN_PROGRESS', 'APPLY_PARTIAL', 'IN_USE', 'NODE_UNREACHABLE'],
    summary: 'Update a service on every node, one node after the other, each once the previous one is healthy again',
    about: UPDATED,
    message: 'Service {service} updated on every node',
    data: NoData,
    handle: async (ctx, { params: { service } }) =>
      updated(
        service,
        ctx.cluster.hasOthers
          ? await ctx.rolling.start(service, ctx.actor)
          : await ctx.units.update(service, false, ctx.actor.email),
      ),
  }),
  endpoint({
    name: 'services.updateOnNode',
    method: 'PUT',
    path: '/{applianceId}/services/{service}/update',
    effect: 'act',
    staged: true,
    managedOnly: true,
    mayGoOn: true,
    refuses: ['APPLY_IN_PROGRESS', 'JOB_IN_PROGRESS', 'APPLY_PARTIAL', 'IN_USE'],
    summary: 'Update a service on one node',
    about: UPDATED,
    message: 'Service {service} updated on one node',
    query: Force,
    data: NoData,
    handle: async (ctx, { params: { service }, query }) =>
      updated(service, await ctx.units.update(service, query.force === 'true', ctx.actor.email)),
  }),
]

export const services = [
  endpoint({
    name: 'services.list',
    method: 'GET',
    path: '/services',
    effect: 'read',
    summary: 'List the services this daemon manages',
    message: 'Services',
    list: { searched: ['name', 'fullName'], key: ({ name }: Static<typeof ServiceEntry>) => name, hasOwnOrder: true },
    data: Type.Array(ServiceEntry),
    handle: (ctx) => [...ctx.units.list()],
  }),
  ...operations,
  ...updates,
]
