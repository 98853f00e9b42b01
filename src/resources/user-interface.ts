import { type Static, Type } from 'typebox'
import type { ContextOf } from '../context/context.ts'
import type { ConsoleChange } from '../context/machine-care.ts'
import type { NodeFacts } from '../context/node-facts.ts'
import { endpoint } from '../api/endpoint.ts'
import { ApiError, type FieldProblem, problemIn, refuseFields } from '../base/errors.ts'
import { dryRun, Reply } from '../api/reply.ts'
import { passwordProblems } from '../rules/console-password.ts'
import { closed, Port, refersTo } from '../model/fields.ts'
import type { UserInterface } from '../model/node.ts'

const PATH = '/{applianceId}/system/userinterface'
/** The port of sshd if nothing else is configured. */
const SSH_PORT = 22

const text = (description: string) => Type.String({ description })
const ipId = refersTo(
  text('Id of the static IP of this node that the API listens on; empty for all addresses.'),
  'staticIps',
)
const certificateId = refersTo(
  text('Id of the certificate of the API; empty for its own self-signed one.'),
  'certificates',
)
const switchOfSsh = Type.Boolean({ description: 'Whether sshd runs, now and after each boot.' })

const Read = Type.Object({
  apiPort: Type.Integer({ description: 'TCP port of the API.' }),
  ipId,
  SSLCertificate: certificateId,
  sshPort: Port,
  sshEnabled: switchOfSsh,
  consoleEnabled: Type.Optional(
    Type.Boolean({
      description:
        'Whether the console account can log in, read from the operating system; absent if it cannot be read.',
    }),
  ),
})

const Update = closed({
  apiPort: Port,
  ipId: Type.Optional(ipId),
  SSLCertificate: Type.Optional(certificateId),
  sshEnabled: Type.Optional(switchOfSsh),
  sshPort: Type.Optional(Port),
  consoleEnabled: Type.Optional(
    Type.Boolean({
      description:
        'Whether the console account can log in; takes effect immediately. Needs the right to change the console.',
    }),
  ),
  consolePassword: Type.Optional(
    text(
      'Password of the console account, 8 to 128 characters with an upper-case letter, a lower-case letter, a digit and a symbol; takes effect immediately, and is never stored or returned. Needs the right to change the console.',
    ),
  ),
})
type Update = Static<typeof Update>
type Settings = Required<Omit<UserInterface, 'id'>>

/** Returns the settings; those without a record are as the machine was found. */
async function settingsOf(facts: NodeFacts, record: UserInterface | undefined): Promise<Settings> {
  const { sshEnabled, sshPort, id: _, ...stored } = record ?? { id: '', apiPort: await facts.apiPort() }
  const of = { ipId: '', SSLCertificate: '', ...stored }
  if (sshEnabled !== undefined && sshPort !== undefined) return { ...of, sshPort, sshEnabled }
  const { enabled, port } = await facts.ssh()
  return { ...of, sshPort: sshPort ?? port ?? SSH_PORT, sshEnabled: sshEnabled ?? enabled ?? false }
}

/** Returns the stored record; reading it also checks If-Match. */
function recordOf(ctx: ContextOf['read'], nodeId: string): UserInterface | undefined {
  return ctx.section('userInterfaces').settings(nodeId)
}

function settingsProblems(ctx: ContextOf['read'], sent: Update, next: Settings): readonly FieldProblem[] {
  const problems: FieldProblem[] = []
  const refuse = (field: keyof Update, message: string) => problems.push(problemIn(field, message))
  const address = next.ipId === '' ? undefined : ctx.section('staticIps').find(next.ipId)
  if (next.ipId !== '' && address?.nodeId !== ctx.nodeId) {
    refuse('ipId', `must be a static IP of this node: there is none with id ${next.ipId}`)
  }
  if (next.SSLCertificate !== '' && ctx.section('certificates').find(next.SSLCertificate) === undefined) {
    refuse('SSLCertificate', `must be a certificate: there is no certificate with id ${next.SSLCertificate}`)
  }
  if (next.sshPort === next.apiPort) {
    refuse(sent.sshPort === undefined ? 'apiPort' : 'sshPort', `must differ: API and sshd cannot share ${next.apiPort}`)
  }
  return problems
}

/**
 * `isOn` is what the operating system reports; if it reports nothing, only switching on or off is certain to be valid.
 */
function consoleProblems({ consoleEnabled, consolePassword }: Partial<Update>, isOn = false): readonly FieldProblem[] {
  const field = 'consolePassword'
  if (consolePassword === undefined) {
    if (consoleEnabled !== true || isOn) return []
    return [{ field, code: 'CONSOLE_PASSWORD_REQUIRED', message: 'is required to enable console access' }]
  }
  if (!(consoleEnabled ?? isOn)) {
    return [{ field, code: 'CONSOLE_DISABLED', message: 'is refused while console access stays off' }]
  }
  return passwordProblems(consolePassword).map((message) => ({ field, code: 'PASSWORD_POLICY', message }))
}

function consoleChange(sent: Update, isOn: boolean | undefined): ConsoleChange | undefined {
  const { consoleEnabled, consolePassword } = sent
  if (consoleEnabled === false) return isOn === false ? undefined : { shell: false, password: 'random' }
  if (consolePassword === undefined) return undefined
  return { shell: isOn === true ? undefined : true, password: { secret: consolePassword } }
}

const namesConsole = (sent: Update) => sent.consoleEnabled !== undefined || sent.consolePassword !== undefined

/** `isOn` is the state of the console that the operating system reported before this change. */
async function update(
  ctx: ContextOf['stage-and-act'],
  sent: Update,
  isOn: boolean | undefined,
): Promise<Reply<undefined>> {
  // A value that was read may be sent back, even without the right to change it; a caller without the right to read it
  // could otherwise find it out by guessing.
  const isAsRead = sent.consoleEnabled === isOn && ctx.may('userInterface.get')
  const isAboutConsole = sent.consolePassword !== undefined || (namesConsole(sent) && !isAsRead)
  if (isAboutConsole && !ctx.may('console.update')) {
    throw new ApiError('PERMISSION_DENIED', 'Console access needs the right to PUT /{applianceId}/system/console')
  }
  ctx.transactions.refuseOpen()
  const record = recordOf(ctx, ctx.nodeId)
  const before = await settingsOf(ctx.nodeFacts.of(ctx.nodeId), record)
  const { consoleEnabled: _, consolePassword: __, ...settings } = sent
  const next: Settings = { ...before, ...settings }
  refuseFields([...settingsProblems(ctx, sent, next), ...consoleProblems(sent, isOn)])
  stage(ctx, record, before, next)
  // Done last: it cannot be undone, and its refusals leave nothing staged.
  const change = consoleChange(sent, isOn)
  if (change === undefined) return Reply.with(undefined, {})
  const { isDryRun } = await ctx.console.change(change)
  if (isDryRun)
    return dryRun(undefined, 'Recorded only: the trial profile does not change console access on this machine')
  return Reply.with(undefined, { message: consoleSaid(change) })
}

function stage(
  ctx: ContextOf['stage-and-act'],
  record: UserInterface | undefined,
  before: Settings,
  next: Settings,
): void {
  const isSame = (Object.keys(next) as (keyof Settings)[]).every((name) => next[name] === before[name])
  if (isSame) return
  const { sshEnabled, sshPort, ...others } = next
  // Settings that nobody has changed are left to the machine: its sshd may have several ports, or run without being
  // enabled.
  const hasPort = record?.sshPort !== undefined || sshPort !== before.sshPort
  // Whether sshd can use a port is checked where it is known to run.
  const saysWhether = hasPort || record?.sshEnabled !== undefined || sshEnabled !== before.sshEnabled
  const ssh = { ...(saysWhether && { sshEnabled }), ...(hasPort && { sshPort }) }
  ctx.section('userInterfaces').put({ id: ctx.nodeId, ...others, ...ssh })
}

function consoleSaid({ shell }: ConsoleChange): string {
  const done = shell === undefined ? 'has a new password' : `is ${shell ? 'enabled' : 'disabled'}`
  return `Console access ${done}; other changes take effect with apply`
}

export const userInterface = [
  endpoint({
    name: 'userInterface.get',
    method: 'GET',
    path: PATH,
    answeredByAny: 'in transactions',
    effect: 'read',
    summary: 'Read where the API and sshd listen, and whether the console account can log in',
    message: 'User interface settings',
    data: Read,
    handle: async (ctx, { params: { applianceId: id } }) => {
      const facts = ctx.nodeFacts.of(id)
      const [settings, consoleEnabled] = await Promise.all([
        settingsOf(facts, recordOf(ctx, id)),
        facts.consoleEnabled(),
      ])
      return consoleEnabled === undefined ? settings : { ...settings, consoleEnabled }
    },
  }),
  endpoint({
    name: 'userInterface.update',
    method: 'PUT',
    path: PATH,
    effect: 'stage-and-act',
    managedOnly: true,
    refuses: ['APPLY_PARTIAL', 'CONSOLE_DISABLED', 'CONSOLE_PASSWORD_REQUIRED', 'PASSWORD_POLICY', 'TRANSACTION_OPEN'],
    summary:
      'Change where the API and sshd listen; console access changes immediately; omitted fields keep their value',
    message: 'User interface settings stored; they take effect with apply',
    body: Update,
    whenNull: { ipId: '', SSLCertificate: '', sshPort: SSH_PORT },
    rules: (body) => (body.consoleEnabled === true ? consoleProblems(body, true) : []),
    prepare: async (ctx, { body }) => (namesConsole(body) ? await ctx.machine.consoleEnabled() : undefined),
    handle: (ctx, { body }, isOn) => update(ctx, body, isOn),
  }),
  endpoint({
    name: 'console.update',
    method: 'PUT',
    path: '/{applianceId}/system/console',
    effect: 'act',
    extension: true,
    permissionOnly: true,
    summary: 'Right to change console access in the user interface settings; this path itself is not served',
    message: 'Not served',
    handle: () => {
      throw new ApiError('UNKNOWN_ENDPOINT', 'Console access is changed with PUT /{applianceId}/system/userinterface')
    },
  }),
]
