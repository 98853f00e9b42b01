import { Type } from 'typebox'
import type { SectionReader } from '../context/sections.ts'
import { endpoint, NoData } from '../api/endpoint.ts'
import { type FieldProblem, problemIn, refuseFields } from '../base/errors.ts'
import { MASK } from '../base/mask.ts'
import { closed } from '../model/fields.ts'
import { SHARED } from '../model/node.ts'
import { RadiusConfig, RadiusHost } from '../model/sign-in.ts'
import { mergedConfig, NO_RADIUS, SENT_CONFIG, SentConfig, sentProblems } from '../rules/radius.ts'

const { id: _, ...properties } = RadiusConfig.properties
const { sharedSecret: __, ...CLEARED } = NO_RADIUS

const Masked = Type.Enum(['', MASK], { description: '** if a secret is stored, otherwise empty.' })
const masked = (secret: string) => (secret === '' ? ('' as const) : MASK)

const Shown = closed({
  ...properties,
  sharedSecret: Masked,
  hosts: Type.Array(closed({ ...RadiusHost.properties, sharedSecret: Masked }), { description: 'The servers.' }),
})

const TestBody = closed({
  ...SENT_CONFIG,
  username: Type.String({ minLength: 1, maxLength: 253, description: 'User name for the test.' }),
  password: Type.String({ minLength: 1, maxLength: 1024, description: 'Password of the user. Never stored.' }),
})

const Tested = Type.Object({
  stage: Type.Enum(['resolve', 'connect', 'authenticate', 'authorize'], {
    description: 'Last stage that was reached.',
  }),
  ok: Type.Boolean({ description: 'Whether the user could log in.' }),
  message: Type.String({ description: 'Result of the test.' }),
  values: Type.Array(Type.String(), { description: 'Values of the group attribute in the answer.' }),
  groups: Type.Array(Type.String(), { description: 'Ids of the groups that follow from them.' }),
  attempts: Type.Array(
    Type.Object({
      host: Type.String({ description: 'Host as configured.' }),
      port: Type.Integer({ description: 'UDP port.' }),
      address: Type.String({ description: 'IP address; empty for a name that could not be resolved.' }),
      outcome: Type.String({
        description: 'unresolved, silent, unreachable, forged, unprotected, refused or accepted.',
      }),
    }),
    { description: 'Servers that were asked, in order.' },
  ),
})

/** Returns problems for mappings to unknown groups. */
function unknownGroups(mappings: RadiusConfig['groupMappings'], groups: SectionReader<'groups'>) {
  return mappings.flatMap(({ groupId }, index): FieldProblem[] => {
    if (groups.find(groupId) !== undefined) return []
    const message = `there is no group with id ${groupId}`
    return [problemIn(`groupMappings.${index}.groupId`, message)]
  })
}

export const radiusConfig = [
  endpoint({
    name: 'radiusConfig.get',
    method: 'GET',
    path: '/radius/config',
    effect: 'read',
    summary: 'Read how users of RADIUS servers log in',
    message: 'RADIUS configuration',
    data: Type.Array(Shown, { description: 'One configuration.' }),
    handle: (ctx) => {
      const { id: _id, ...stored } = ctx.section('radiusConfigs').settings(SHARED) ?? { id: SHARED, ...NO_RADIUS }
      const hosts = stored.hosts.map((host) => ({ ...host, sharedSecret: masked(host.sharedSecret) }))
      return [{ ...stored, hosts, sharedSecret: masked(stored.sharedSecret) }]
    },
  }),
  endpoint({
    name: 'radiusConfig.update',
    method: 'PUT',
    path: '/radius/config',
    effect: 'stage',
    refuses: ['PASSWORD_NOT_STORED'],
    summary: 'Change how users of RADIUS servers log in; omitted fields keep their value',
    message: 'RADIUS configuration stored',
    body: SentConfig,
    whenNull: CLEARED,
    rules: sentProblems,
    data: NoData,
    handle: (ctx, { body }) => {
      const configs = ctx.section('radiusConfigs')
      const { settings, problems } = mergedConfig(body, configs.settings(SHARED) ?? NO_RADIUS)
      refuseFields([...problems, ...unknownGroups(settings.groupMappings, ctx.section('groups'))])
      configs.put({ ...settings, id: SHARED }, NO_RADIUS)
      return []
    },
  }),
  endpoint({
    name: 'radiusConfig.test',
    method: 'POST',
    path: '/radius/config/test',
    effect: 'act',
    staged: true,
    refuses: ['PASSWORD_NOT_STORED'],
    summary:
      'Test a login at the RADIUS servers with settings that need not be stored; omitted ones are taken from the stored settings',
    message: 'RADIUS tested',
    atOnce: { what: 'tests of RADIUS settings', all_max: 4, each_max: 1 },
    body: TestBody,
    rules: sentProblems,
    data: Tested,
    handle: async (ctx, { body: { username, password, ...sent } }) => {
      const stored = ctx.section('radiusConfigs').settings(SHARED) ?? NO_RADIUS
      const { settings, problems } = mergedConfig(sent, stored, true)
      refuseFields([...problems, ...unknownGroups(settings.groupMappings, ctx.section('groups'))])
      const { values, groups, attempts, ...said } = await ctx.radius.test(
        { ...settings, id: SHARED },
        username,
        password,
      )
      return { ...said, values: [...values], groups: [...groups], attempts: [...attempts] }
    },
  }),
]
