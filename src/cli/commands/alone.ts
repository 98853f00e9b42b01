import type { Command } from 'commander'
import type { Common, Run } from '../command.ts'
import { type Connection, type Received, Refusal } from '../connection.ts'
import { Failure } from '../failure.ts'
import { printable } from '../output.ts'
import { Unreachable } from '../unreachable.ts'

type Data = Readonly<Record<string, unknown>>

/** Options of every command that changes records. */
export interface Moving extends Common {
  readonly stage?: boolean
  readonly message?: string
  readonly acceptWarnings?: boolean
}

/** Adds the options of commands that change records and apply the change. */
export const moving = (command: Command): Command =>
  command
    .option('--stage', 'only stage the change, do not apply it')
    .option('--accept-warnings', 'apply despite warnings')
    .option('-m, --message <text>', 'comment stored with the revision')

/** The message of an apply without warnings. */
const APPLIED = 'Changes applied'

/**
 * Sections that determine who may log in and with which rights: their changes go live together, and are taken back
 * together.
 */
export const ACCESS: ReadonlySet<string> = new Set([
  'users',
  'groups',
  'roles',
  'radiusConfigs',
  'radiusUsers',
  'samlConfigs',
  'oidcConfigs',
  'loginPolicies',
])

interface PendingChange {
  readonly id: string
  /** Section of the record. */
  readonly resource: string
  readonly op: 'create' | 'update' | 'delete'
  readonly resourceId: string
  readonly name: string
  readonly by: string
  /** For an update, the fields that differ. */
  readonly after: Data | null
}

interface Alone {
  /** Ids of the records; empty for a creation, whose answer has the new id. */
  readonly of: readonly string[]
  /** The resulting fields: if exactly this change is already pending, it is applied. */
  readonly wanted?: Data
  /** Whether users or roles are changed. */
  readonly isOfAccess?: boolean
  readonly stage: () => Promise<Received<unknown>>
}

interface Applied {
  /** Id of the new record, or of the first. */
  readonly id: string
  readonly isChanged: boolean
  /** Id of the job, if work continues. */
  readonly job: string | undefined
}

/**
 * Stages changes of records and applies them, and nothing else that is pending. A record has a single pending change,
 * so it is refused if that contains more. If the apply is refused, the staged changes are taken back, so that nobody
 * else applies them.
 */
export async function applyAlone(
  run: Run,
  connection: Connection,
  { of, wanted = {}, isOfAccess = false, stage }: Alone,
  { stage: isStaged = false, message, acceptWarnings }: Moving,
): Promise<Applied> {
  const before = await pendingNow(connection)
  const ofThese = (ids: readonly string[]) => (change: PendingChange) => ids.includes(change.resourceId)
  if (!isStaged) {
    refuseOthers(before.filter(ofThese(of)), wanted)
    if (isOfAccess) refuseAccess(before.filter((change) => !ofThese(of)(change)))
  }
  const { data, job } = await stage()
  const [first = String(Reflect.get(Object(data), 'id')), ...others] = of
  const own = (await pendingNow(connection)).filter(ofThese([first, ...others]))
  const done = { id: first, isChanged: own.length > 0, job }
  if (!done.isChanged || isStaged) return done
  const body = { changes: own.map(({ id }) => id), ...(message === undefined ? {} : { comment: message }) }
  try {
    const { message: said } = await applyWarned(run, (isFirst) => {
      const refuseWarnings = isFirst && acceptWarnings !== true
      return connection.ask('PUT', '/services/apply', { body: { ...body, refuseWarnings } })
    })
    if (said !== APPLIED) run.terminal.err(`${printable(said)}\n`)
  } catch (error) {
    const isNew = ({ id }: PendingChange) => before.every((change) => change.id !== id)
    // Without an answer, the changes may have gone live.
    if (error instanceof Failure && !(error instanceof Unreachable))
      await takeBack(run, connection, own.filter(isNew), job)
    throw error
  }
  return done
}

/** Applies; shows warnings, if any, and asks whether to go on. `apply` refuses warnings at the first call. */
export async function applyWarned<T>(run: Run, apply: (isFirst: boolean) => Promise<T>): Promise<T> {
  try {
    return await apply(true)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'WARNINGS') throw error
    run.terminal.err(`${printable(error.message)}\n`)
    await run.agree('Apply anyway?', false, { instead: 'use --accept-warnings' })
    return await apply(false)
  }
}

/** Applies, and prints the outcome. `id` is the record to report, if it is not the first changed one. */
export async function tellAlone(
  run: Run,
  connection: Connection,
  { id, said, ...alone }: Alone & { readonly id?: string; readonly said: string },
  options: Moving,
): Promise<void> {
  const { id: first, isChanged } = await applyAlone(run, connection, alone, options)
  const told = { id: id ?? first, staged: options.stage === true, changed: isChanged }
  run.told(options, `${said}${unless(isChanged, options)}`, told)
}

/** Returns the end of a sentence that states the new state. */
export const unless = (isChanged: boolean, { stage }: Moving): string =>
  !isChanged ? ' already' : stage === true ? ', once it is applied' : ''

const pendingNow = async (connection: Connection): Promise<readonly PendingChange[]> =>
  (await connection.get<{ readonly changes: readonly PendingChange[] }>('/services/pending')).changes

function refuseOthers(pending: readonly PendingChange[], wanted: Data): void {
  for (const { op, name, by, after } of pending) {
    const others = Object.keys(after ?? {}).filter((field) => Object(after)[field] !== wanted[field])
    if (op === 'update' && others.length === 0) continue
    const told = { create: 'its creation', delete: 'its deletion', update: others.join(', ') }[op]
    const sentence = `something else of ${name} is pending (${told}, by ${by}): apply or discard it first, or use --stage`
    throw new Failure(printable(sentence))
  }
}

/**
 * Refuses if other changes of access are pending: an apply would refuse some of them without the others, and taking one
 * back would take back all.
 */
function refuseAccess(pending: readonly PendingChange[]): void {
  const [first, ...more] = pending.filter(({ resource }) => ACCESS.has(resource))
  if (first === undefined) return
  const told = `${first.name}, by ${first.by}${more.length === 0 ? '' : `, and ${more.length} more`}`
  const advice = 'they go live together: apply or discard them first, or use --stage'
  throw new Failure(printable(`other changes of users or roles are pending (${told}), and ${advice}`))
}

/** Takes back what was just staged. */
async function takeBack(
  run: Run,
  connection: Connection,
  changes: readonly PendingChange[],
  job: string | undefined,
): Promise<void> {
  try {
    const isOther = ({ id }: PendingChange) => changes.every((change) => change.id !== id)
    if (changes.some(({ resource }) => ACCESS.has(resource)))
      refuseAccess((await pendingNow(connection)).filter(isOther))
    for (const { id } of changes) await discardOne(connection, id)
  } catch (error) {
    run.terminal.err(`${printable(`it is still pending: ${error instanceof Error ? error.message : String(error)}`)}\n`)
  }
  if (job !== undefined) await cancel(run, connection, job)
}

/** Returns the message; undefined if the change is gone, as a change of access that was taken back with another. */
export async function discardOne(connection: Connection, id: string): Promise<string | undefined> {
  try {
    return (await connection.ask('DELETE', `/services/pending/${encodeURIComponent(id)}`)).message
  } catch (error) {
    if (error instanceof Refusal && error.code === 'NOT_FOUND') return undefined
    throw error
  }
}

/**
 * Cancels the job: a drain could otherwise wait for changes that somebody else has staged, and continue with their
 * apply.
 */
async function cancel(run: Run, connection: Connection, job: string): Promise<void> {
  await connection.ask('PUT', `/jobs/${encodeURIComponent(job)}/cancel`).catch((error: unknown) => {
    // The job has ended if its change was taken back.
    if (error instanceof Refusal && error.code === 'NOT_SUPPORTED') return
    const why = error instanceof Error ? error.message : String(error)
    run.terminal.err(`${printable(`the job ${job} is not cancelled: ${why}`)}\n`)
  })
}
