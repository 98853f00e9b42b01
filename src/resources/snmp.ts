import { type Static, Type } from 'typebox'
import { endpoint } from '../api/endpoint.ts'
import { type FieldProblem, problemIn, refuseFields } from '../base/errors.ts'
import { MASK, unstored } from '../base/mask.ts'
import { Reply } from '../api/reply.ts'
import { closed, refersTo } from '../model/fields.ts'
import { SHARED } from '../model/node.ts'
import { SNMP_OFF, SnmpSettings } from '../model/snmp.ts'
import { newEngineId } from '../snmp/keys.ts'
import { communityProblem, directiveProblem } from '../rules/snmp.ts'

/** A stored community reads as `**` for callers that may not change it; sending that keeps the stored one. */

const { enabledV2, enabledV3, community, location, contact, serviceIpId, port } = SnmpSettings.properties

const Body = closed({
  serviceIpId: refersTo(
    Type.String({
      maxLength: 64,
      description:
        'Id of the static or floating IP that the agent listens on. May be empty only while both versions are off: then the machine stays as it was found.',
    }),
    'staticIps',
    'floatingIps',
  ),
  enabledV2: Type.Optional(enabledV2),
  enabledV3: Type.Optional(enabledV3),
  community: Type.Optional(community),
  location: Type.Optional(location),
  contact: Type.Optional(contact),
  port: Type.Optional(port),
})
type Sent = Static<typeof Body>
const { id: _, engineId: __, serviceIpId: ___, ...CLEARED } = SNMP_OFF

const Shown = closed({
  enabledV2,
  enabledV3,
  community: Type.String({ description: 'Community for version 2c; ** for callers who may not change it.' }),
  location,
  contact,
  serviceIpId,
  port,
})

function textProblems({ community: secret, location: place, contact: person }: Partial<Sent>): FieldProblem[] {
  const problem = (field: string, message: string | undefined): FieldProblem[] =>
    message === undefined ? [] : [problemIn(field, message)]
  return [
    ...problem('community', secret === undefined ? undefined : communityProblem(secret)),
    ...problem('location', place === undefined ? undefined : directiveProblem(place)),
    ...problem('contact', person === undefined ? undefined : directiveProblem(person)),
  ]
}

type Settings = Omit<SnmpSettings, 'id' | 'engineId'>

/** Returns problems that only the combination of sent and stored values shows. */
function wholeProblems(sent: Sent, stored: Settings, wanted: Settings): FieldProblem[] {
  const isOn = wanted.enabledV2 || wanted.enabledV3
  const problems: FieldProblem[] = []
  if (sent.community === MASK && stored.community === '') {
    problems.push(unstored('community'))
  } else if (wanted.enabledV2 && wanted.community === '') {
    problems.push(problemIn('community', 'is required while version 2c is enabled'))
  }
  if (wanted.serviceIpId === '' && isOn) {
    problems.push(problemIn('serviceIpId', 'is required while the agent is enabled'))
  }
  return problems
}

/** Absent fields and the mask keep the stored values. Refuses with all problems at once. */
function merged(sent: Sent, stored: Settings): Settings {
  const wanted = {
    enabledV2: sent.enabledV2 ?? stored.enabledV2,
    enabledV3: sent.enabledV3 ?? stored.enabledV3,
    community: sent.community === MASK ? stored.community : (sent.community ?? stored.community),
    location: sent.location ?? stored.location,
    contact: sent.contact ?? stored.contact,
    serviceIpId: sent.serviceIpId,
    port: sent.port ?? stored.port,
  }
  refuseFields([...textProblems(sent), ...wholeProblems(sent, stored, wanted)])
  return wanted
}

export const snmp = [
  endpoint({
    name: 'snmp.get',
    method: 'GET',
    path: '/snmp',
    effect: 'read',
    summary: 'Read the settings of the SNMP agent',
    message: 'SNMP settings',
    data: Shown,
    handle: (ctx) => {
      const { id, engineId: _engineId, ...shown } = ctx.section('snmpSettings').settings(SHARED) ?? SNMP_OFF
      const isMasked = shown.community !== '' && !ctx.may('snmp.update')
      return Reply.with({ ...shown, ...(isMasked ? { community: MASK } : {}) }, { beside: { uid: id } })
    },
    beside: Type.Object({ uid: Type.String({ description: 'Id of the settings: there is one for the cluster.' }) }),
  }),
  endpoint({
    name: 'snmp.update',
    method: 'PUT',
    path: '/snmp',
    effect: 'stage',
    refuses: ['PASSWORD_NOT_STORED'],
    summary: 'Change the settings of the SNMP agent; omitted fields keep their value',
    message: 'SNMP settings stored',
    body: Body,
    whenNull: CLEARED,
    rules: textProblems,
    handle: (ctx, { body }) => {
      const settings = ctx.section('snmpSettings')
      const stored = settings.settings(SHARED) ?? { ...SNMP_OFF, engineId: newEngineId() }
      const { engineId } = stored
      settings.put({ id: SHARED, engineId, ...merged(body, stored) }, { ...SNMP_OFF, engineId })
    },
  }),
]
