import type { Command } from 'commander'
import type { Common, Run } from '../command.ts'
import { type Connection, Refusal, Unreachable } from '../connection.ts'
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
    .option('--stage', 'leaves it pending, and applies nothing')
    .option('--accept-warnings', 'although there are warnings')
    .option('-m, --message <text>', 'kept with the revision')

/** What an apply says that has nothing to warn of. */
const APPLIED = 'Changes applied'

interface PendingChange {
  readonly id: string
  readonly op: 'create' | 'update' | 'delete'
  readonly resourceId: string
  readonly name: string
  readonly by: string
  /** Of an update: the fields that differ. */
  readonly after: Data | null
}

interface Alone {
  /** Ids of the records, as far as they are there already. */
  readonly of: readonly string[]
  /** What it makes of them: where just this is pending already, it goes live. */
  readonly wanted?: Data
  /** Answers the ids of the records whose changes are to go live. */
  readonly stage: () => Promise<readonly string[]>
}

/**
 * Stages changes of records and makes them live, and nothing else that is pending. As a record has one change, one
 * whose change holds more is refused. What an apply refuses does not stay for somebody else's. Answers whether anything
 * changed.
 */
export async function applyAlone(
  run: Run,
  connection: Connection,
  { of, wanted = {}, stage }: Alone,
  { stage: isStaged = false, message, acceptWarnings }: Moving,
): Promise<boolean> {
  const before = await pendingOf(connection, of)
  if (!isStaged) refuseOthers(before, wanted)
  const own = await pendingOf(connection, await stage())
  if (own.length === 0 || isStaged) return own.length > 0
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
    if (error instanceof Failure && !(error instanceof Unreachable)) await discard(run, connection, own.filter(isNew))
    throw error
  }
  return true
}

/** What there is to warn of is shown, and asked about. `apply`: refuses to go on with warnings at first. */
export async function applyWarned<T>(run: Run, apply: (isFirst: boolean) => Promise<T>): Promise<T> {
  try {
    return await apply(true)
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'WARNINGS') throw error
    run.terminal.err(`${printable(error.message)}\n`)
    await run.agree('Apply all the same?', false, { instead: 'say --accept-warnings' })
    return await apply(false)
  }
}

/** The same, and tells what came of it. `id`: of the record that it is about; the first whose change goes live. */
export async function tellAlone(
  run: Run,
  connection: Connection,
  { id, said, ...alone }: Alone & { readonly id?: string; readonly said: string },
  options: Moving,
): Promise<void> {
  let ids: readonly string[] = []
  const stage = async () => (ids = await alone.stage())
  const changed = await applyAlone(run, connection, { ...alone, stage }, options)
  const sentence = `${said}${unless(changed, options)}`
  run.told(options, sentence, { id: id ?? ids[0], staged: options.stage === true, changed })
}

/** How a sentence ends that says what is so. */
export const unless = (isChanged: boolean, { stage }: Moving): string =>
  !isChanged ? ' already' : stage === true ? ', once it is applied' : ''

async function pendingOf(connection: Connection, ids: readonly string[]): Promise<readonly PendingChange[]> {
  const { changes } = await connection.get<{ readonly changes: readonly PendingChange[] }>('/services/pending')
  return changes.filter(({ resourceId }) => ids.includes(resourceId))
}

function refuseOthers(pending: readonly PendingChange[], wanted: Data): void {
  for (const { op, name, by, after } of pending) {
    const others = Object.keys(after ?? {}).filter((field) => Object(after)[field] !== wanted[field])
    if (op === 'update' && others.length === 0) continue
    const told = { create: 'its creation', delete: 'its deletion', update: others.join(', ') }[op]
    const sentence = `something else of ${name} is pending (${told}, by ${by}): apply or discard that first, or say --stage`
    throw new Failure(printable(sentence))
  }
}

async function discard(run: Run, connection: Connection, changes: readonly PendingChange[]): Promise<void> {
  for (const { id } of changes) {
    await connection.ask('DELETE', `/services/pending/${encodeURIComponent(id)}`).catch((error: unknown) => {
      run.terminal.err(
        `${printable(`it is still pending: ${error instanceof Error ? error.message : String(error)}`)}\n`,
      )
    })
  }
}
