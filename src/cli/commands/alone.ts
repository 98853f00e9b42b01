import type { Command } from 'commander'
import type { Common, Run } from '../command.ts'
import { type Connection, type Received, Refusal, Unreachable } from '../connection.ts'
import { Failure } from '../failure.ts'
import { printable } from '../output.ts'

type Data = Readonly<Record<string, unknown>>

/** What is said with each command that changes records. */
export interface Moving extends Common {
  readonly stage?: boolean
  readonly message?: string
  readonly acceptWarnings?: boolean
}

/** The options of whatever changes records and applies that. */
export const moving = (command: Command): Command =>
  command
    .option('--stage', 'only stage the change, do not apply it')
    .option('--accept-warnings', 'apply despite warnings')
    .option('-m, --message <text>', 'comment stored with the revision')

/** What an apply says that has nothing to warn of. */
const APPLIED = 'Changes applied'

/** Sections that say who may come in and do what: their changes go live together, and are taken back together. */
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
  /** The section that it is of. */
  readonly resource: string
  readonly op: 'create' | 'update' | 'delete'
  readonly resourceId: string
  readonly name: string
  readonly by: string
  /** For an update: the fields that differ. */
  readonly after: Data | null
}

interface Alone {
  /** Ids of the records; none of a creation, which answers the id of what is new. */
  readonly of: readonly string[]
  /** What it makes of them: where just this is pending already, it goes live. */
  readonly wanted?: Data
  /** It is a change of users or roles. */
  readonly isOfAccess?: boolean
  readonly stage: () => Promise<Received<unknown>>
}

interface Applied {
  /** Id of the new record, or of the first. */
  readonly id: string
  readonly isChanged: boolean
  /** The job, if work continues. */
  readonly job: string | undefined
}

/**
 * Stages changes of records and makes them live, and nothing else that is pending. As a record has one change, one
 * whose change holds more is refused. What an apply refuses does not stay for somebody else's.
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
    // Where nobody answered, it may have gone live.
    if (error instanceof Failure && !(error instanceof Unreachable))
      await takeBack(run, connection, own.filter(isNew), job)
    throw error
  }
  return done
}

/** What there is to warn of is shown, and asked about. `apply`: refuses to go on with warnings at first. */
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

/** The same, and tells what came of it. `id`: of the record that it is about, where that is another one. */
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

/** How a sentence ends that says what is so. */
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

/** An apply would refuse some of them without the others, and taking some back would take all. */
function refuseAccess(pending: readonly PendingChange[]): void {
  const [first, ...more] = pending.filter(({ resource }) => ACCESS.has(resource))
  if (first === undefined) return
  const told = `${first.name}, by ${first.by}${more.length === 0 ? '' : `, and ${more.length} more`}`
  const advice = 'they go live together: apply or discard them first, or use --stage'
  throw new Failure(printable(`other changes of users or roles are pending (${told}), and ${advice}`))
}

/** Takes back what was staged just now. */
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

/** Answers what is told of it; undefined where it is gone, as a change of access is that went with another. */
export async function discardOne(connection: Connection, id: string): Promise<string | undefined> {
  try {
    return (await connection.ask('DELETE', `/services/pending/${encodeURIComponent(id)}`)).message
  } catch (error) {
    if (error instanceof Refusal && error.code === 'NOT_FOUND') return undefined
    throw error
  }
}

/** A drain may wait for what somebody else has staged, and would go on with their apply. */
async function cancel(run: Run, connection: Connection, job: string): Promise<void> {
  await connection.ask('PUT', `/jobs/${encodeURIComponent(job)}/cancel`).catch((error: unknown) => {
    // It has ended by itself where its change was taken back.
    if (error instanceof Refusal && error.code === 'NOT_SUPPORTED') return
    const why = error instanceof Error ? error.message : String(error)
    run.terminal.err(`${printable(`the job ${job} is not cancelled: ${why}`)}\n`)
  })
}
