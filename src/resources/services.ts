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
    summary: `The service is ${done} on every node`,
    message: `Service {service} ${done} on every node`,
    data: NoData,
    handle: async (ctx, { params }) => operated(params.service, verb, await ctx.operate(params.service, verb)),
  }),
  endpoint({
    name: `services.${verb}OnNode`,
    method: 'PUT',
    path: `/{applianceId}/services/{service}/${verb}`,
    effect: 'act',
    staged,
    summary: `The service is ${done} on one node`,
    message: `Service {service} ${done} on one node`,
    data: NoData,
    handle: async (ctx, { params }) => operated(params.service, verb, await ctx.operate(params.service, verb)),
  }),
])

export const services = [
  endpoint({
    name: 'services.list',
    method: 'GET',
    path: '/services',
    effect: 'read',
    staged: false,
    summary: 'List the services this daemon manages',
    message: 'Services',
    data: Type.Array(ServiceEntry),
    handle: (ctx) => [...ctx.units.list()],
  }),
  ...operations,
]
