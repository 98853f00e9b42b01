import { Type } from 'typebox'
import { endpoint, NoData } from '../api/endpoint.ts'
import { dryRun, type Reply } from '../api/reply.ts'

const text = (description: string) => Type.String({ description })

const ServiceEntry = Type.Object({
  name: text('Name for the paths of this API.'),
  fullName: text('Name for people.'),
  canReload: Type.Boolean({ description: 'Takes a new configuration without stopping.' }),
  canUpdate: Type.Boolean({ description: 'Its package can be updated from here.' }),
})

function operated(
  service: string,
  verb: string,
  { isDryRun }: { readonly isDryRun: boolean },
): Reply<never[]> | never[] {
  if (!isDryRun) return []
  return dryRun([], `Recorded only: the trial profile does not ${verb} ${service} on this machine`)
}

const VERBS = [
  { verb: 'reload', staged: false, done: 'reloaded' },
  { verb: 'restart', staged: false, done: 'restarted' },
  { verb: 'update', staged: true, done: 'updated' },
] as const

const operations = VERBS.flatMap(({ verb, staged, done }) => [
  endpoint({
    name: `services.${verb}`,
    method: 'PUT',
    path: `/services/{service}/${verb}`,
    effect: 'act',
    staged,
    managedOnly: true,
    refuses: ['CONFIG_INVALID', 'APPLY_IN_PROGRESS', 'JOB_IN_PROGRESS', 'APPLY_PARTIAL'],
    summary: `The service is ${done} on every node`,
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
    staged,
    managedOnly: true,
    refuses: ['CONFIG_INVALID', 'APPLY_IN_PROGRESS', 'JOB_IN_PROGRESS', 'APPLY_PARTIAL'],
    summary: `The service is ${done} on one node`,
    message: `Service {service} ${done} on one node`,
    data: NoData,
    handle: async (ctx, { params }) =>
      operated(params.service, verb, await ctx.units.operate(params.service, verb, ctx.actor.email)),
  }),
])

export const services = [
  endpoint({
    name: 'services.list',
    method: 'GET',
    path: '/services',
    effect: 'read',
    summary: 'List the services this daemon manages',
    message: 'Services',
    data: Type.Array(ServiceEntry),
    handle: (ctx) => [...ctx.units.list()],
  }),
  ...operations,
]
