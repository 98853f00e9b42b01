import { type Static, Type } from 'typebox'
import { endpoint } from '../api/endpoint.ts'
import { type FieldProblem, problemIn, refuseFields } from '../base/errors.ts'
import { isHost } from '../base/host-name.ts'
import { MASK, unstored } from '../base/mask.ts'
import { closed, Port } from '../model/fields.ts'
import { SystemProxy } from '../model/node.ts'
import { bypassKind, bypassProblem } from '../rules/proxy-bypass.ts'

/** A stored password reads as `**`; sending that keeps the stored one. */

const { enable, username, password, bypass } = SystemProxy.properties
const orNull = <T extends typeof username | typeof bypass>(schema: T, description: string) =>
  Type.Optional(Type.Union([schema, Type.Null()], { description }))

const AddressValue = Type.Union(
  [Type.String({ maxLength: 253, description: 'IP address or host name.' }), Type.Null()],
  {
    description: 'IP address or host name; null if there is none.',
  },
)
const AddressPort = Type.Union([Port, Type.Null()], { description: 'TCP port, 1 to 65535; null if there is none.' })

const Body = closed({
  enable,
  address: Type.Optional(
    Type.Union([closed({ value: Type.Optional(AddressValue), port: Type.Optional(AddressPort) }), Type.Null()], {
      description:
        'Address of the proxy. Omitted keeps the stored address; null clears it. Give both parts, or null for both.',
    }),
  ),
  username: orNull(username, 'User name at the proxy. Omitted keeps the stored one; empty or null clears it.'),
  password: orNull(
    password,
    'Password at the proxy. Omitted or ** keeps the stored one; empty or null clears it. Never returned.',
  ),
  bypass: orNull(
    bypass,
    'Destinations that bypass the proxy: host names, domains (which match their subdomains), .suffixes, IP addresses, CIDR ranges. Omitted keeps the stored list; null clears it.',
  ),
})
type Sent = Static<typeof Body>

const Shown = closed({
  enable,
  address: closed({ value: AddressValue, port: AddressPort }, 'Address of the proxy.'),
  username,
  password: Type.Enum(['', MASK], { description: '** if a password is stored, otherwise empty.' }),
  bypass,
})

const NOTHING = { enable: false, address: null, username: '', password: '', bypass: [] } as const
type Settings = Omit<SystemProxy, 'id'>

/**
 * Rule 1: absent keeps the stored address; null clears it, and so does an object of nulls, the form in which no address
 * is read.
 */
function addressFrom(sent: Sent['address'], stored: Settings['address']) {
  if (sent === undefined) return { address: stored, problems: [] }
  if (sent === null || (sent.value === null && sent.port === null)) return { address: null, problems: [] }
  const { value, port } = sent
  const problems: FieldProblem[] = []
  if (typeof value !== 'string') problems.push(problemIn('address.value', 'is required'))
  else if (!isHost(value)) problems.push(problemIn('address.value', 'must be an IP address or a host name'))
  if (typeof port !== 'number') problems.push(problemIn('address.port', 'is required'))
  return { address: typeof value === 'string' && typeof port === 'number' ? { value, port } : null, problems }
}

/** Rule 3: absent and `**` keep, empty and null clear. */
function passwordFrom(sent: Sent['password'], stored: string): string {
  return sent === undefined || sent === MASK ? stored : (sent ?? '')
}

/** Rule 4. */
function bypassProblems(sent: Sent['bypass']): readonly FieldProblem[] {
  return (sent ?? []).flatMap((entry, index): FieldProblem[] =>
    bypassKind(entry) === undefined
      ? [{ field: `bypass.${index}`, code: 'INVALID_BYPASS_ENTRY', message: bypassProblem(entry) }]
      : [],
  )
}

/** Applies rules 1 to 4 of the specification to the stored settings. Refuses with all problems at once. */
function merged(sent: Sent, stored: Settings): Settings {
  const { address, problems } = addressFrom(sent.address, stored.address)
  const found = [...problems]
  if (sent.enable && address === null && problems.length === 0) {
    found.push({ field: 'address', code: 'ADDRESS_REQUIRED', message: 'is required for an enabled proxy' })
  }
  if (sent.password === MASK && stored.password === '') {
    found.push(unstored('password'))
  }
  refuseFields([...found, ...bypassProblems(sent.bypass)])
  return {
    enable: sent.enable,
    address,
    username: sent.username === undefined ? stored.username : (sent.username ?? ''),
    password: passwordFrom(sent.password, stored.password),
    bypass: sent.bypass === undefined ? stored.bypass : (sent.bypass ?? []),
  }
}

export const systemProxy = [
  endpoint({
    name: 'systemProxy.get',
    method: 'GET',
    path: '/{applianceId}/system/proxy',
    answeredByAny: 'in transactions',
    effect: 'read',
    summary: 'Read the proxy through which this node fetches packages',
    message: 'Proxy settings',
    data: Shown,
    handle: (ctx, { params }) => {
      const stored = ctx.section('systemProxies').settings(params.applianceId) ?? NOTHING
      return {
        enable: stored.enable,
        address: stored.address ?? { value: null, port: null },
        username: stored.username,
        password: stored.password === '' ? ('' as const) : MASK,
        bypass: [...stored.bypass],
      }
    },
  }),
  endpoint({
    name: 'systemProxy.update',
    method: 'PUT',
    path: '/{applianceId}/system/proxy',
    answeredByAny: 'in transactions',
    effect: 'stage',
    refuses: ['ADDRESS_REQUIRED', 'INVALID_BYPASS_ENTRY', 'PASSWORD_NOT_STORED'],
    summary: 'Change the proxy of this node; omitted fields keep their value',
    message: 'Proxy settings stored',
    body: Body,
    rules: ({ bypass: sent }) => bypassProblems(sent),
    handle: (ctx, { params: { applianceId: id }, body }) => {
      const proxies = ctx.section('systemProxies')
      const none = { ...NOTHING, bypass: [] }
      proxies.put({ id, ...merged(body, proxies.settings(id) ?? none) }, none)
    },
  }),
]
