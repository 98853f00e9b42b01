import type { Command } from 'commander'
import { type Change, type Changes, tell } from '../changes.ts'
import { collect, type Common, countIn, optionsOf, type Run, secondsIn, undefinedIfDenied } from '../command.ts'
import { type Connection, Refusal } from '../connection.ts'
import { inOwnWords } from '../own-words.ts'
import { socketPathOf } from '../contexts.ts'
import { Failure } from '../failure.ts'
import { printable, span, table } from '../output.ts'
import { applyWarned, discardOne } from './alone.ts'
import { type ApplyOptions, applyFile, type PlanOptions, tellApplied, termsOf } from './file.ts'

/** Adds the commands for pending changes and for applying them. */
export function addGoingLive(program: Command, run: Run): void {
  addApply(program, run)
  program
    .command('pending')
    .description('list the changes that wait for an apply, and who made them')
    .action((_options: unknown, command: Command) => pending(run, optionsOf(command)))
  program
    .command('diff')
    .description('show pending changes with every field, and the diff of the generated files')
    .action((_options: unknown, command: Command) => pending(run, { ...optionsOf(command), isWide: true }))
  program
    .command('discard')
    .description('discard pending changes: those with these ids, your own, or all')
    .argument('[ids...]', 'ids from fulcrum pending')
    .option('--mine', 'all changes made only by you')
    .option('--all', 'all changes, by anyone')
    .action((ids: readonly string[], _options: unknown, command: Command) => discard(run, ids, optionsOf(command)))
  program
    .command('confirm')
    .description('confirm the last apply, so that it is kept')
    .action((_options: unknown, command: Command) => act(run, 'PUT', '/services/apply/confirm', optionsOf(command)))
  program
    .command('revert')
    .description('revert the last apply now, while it waits for confirmation')
    .action((_options: unknown, command: Command) => act(run, 'PUT', '/services/apply/revert', optionsOf(command)))
  program
    .command('log')
    .description('list applied revisions, newest first')
    .option('-n, --number <count>', 'number of revisions', '20')
    .action((_options: unknown, command: Command) => log(run, optionsOf(command)))
  program
    .command('undo')
    .description('stage the reverse of one revision')
    .argument('<revision>', 'number from fulcrum log')
    .action((revision: string, _options: unknown, command: Command) => {
      if (!/^\d+$/.test(revision)) throw new Failure(`${revision} is not a revision: fulcrum log lists them`)
      return act(run, 'PUT', `/revisions/${revision}/revert`, optionsOf(command))
    })
}

interface ApplyAll extends PlanOptions, ApplyOptions {
  readonly mine?: boolean
  readonly only?: readonly string[]
}

function addApply(program: Command, run: Run): void {
  program
    .command('apply')
    .description('apply pending changes, a document (-f) or a saved plan on all nodes')
    .argument('[plan]', 'file written by fulcrum plan --out')
    .option('-f, --file <file>', 'document, folder of documents, or - (repeatable)', collect)
    .option('--prune', 'with -f: delete records of its owner that are not in it')
    .option('--take-over', 'with -f: also change records of other owners, and take ownership')
    .option('--mine', 'only pending changes made only by you')
    .option('--only <id>', 'only this pending change (repeatable)', collect)
    .option('-m, --message <text>', 'comment stored with the revision')
    .option('--confirm <time>', 'revert unless fulcrum confirm is run within this time, for example 60s')
    .option('--accept-warnings', 'apply despite warnings')
    .option('-w, --wide', 'show every field, and the diff of the generated files')
    .option('-y, --yes', 'do not ask for confirmation')
    .action((plan: string | undefined, _options: unknown, command: Command) => {
      const options = optionsOf<ApplyAll>(command)
      // Checked before the user is asked anything.
      if (options.confirm !== undefined) secondsIn(options.confirm)
      refuseStrayOptions(plan, options)
      return plan !== undefined || options.file !== undefined
        ? applyFile(run, plan, options)
        : applyPending(run, options)
    })
}

/** Refuses options that would be ignored: the user expects something else than would be done. */
function refuseStrayOptions(plan: string | undefined, { file, mine, only, prune, takeOver }: ApplyAll): void {
  if (plan !== undefined && file !== undefined) throw new Failure('give either a plan, or -f and a document')
  if (mine === true && only !== undefined) throw new Failure('use either --mine or --only')
  if (file === undefined && (prune === true || takeOver === true))
    throw new Failure(
      plan === undefined
        ? '--prune and --take-over need -f'
        : 'give --prune and --take-over when you create the plan: a plan does exactly what it shows',
    )
  if ((plan !== undefined || file !== undefined) && (mine === true || only !== undefined))
    throw new Failure('--mine and --only select pending changes: they cannot be combined with -f or a plan')
}

interface PendingChange extends Change {
  readonly id: string
  /** The other users who changed it while it was pending. */
  readonly alsoBy: readonly string[]
}

interface Pending extends Changes {
  readonly revision: number
  readonly changes: readonly PendingChange[]
}

/** The daemon's name for a caller on its own socket. */
const LOCAL_ROOT = 'local root'

async function pending(run: Run, { isWide = false, ...common }: Common & { readonly isWide?: boolean }): Promise<void> {
  const connection = run.connect(common)
  const found = await connection.get<Pending>('/services/pending', isWide ? { render: 'true' } : {})
  if (common.json === true) return run.json(found)
  if (found.changes.length === 0) run.terminal.out('Nothing is pending.\n')
  else await tell(found, { connection, terminal: run.terminal, isWide })
}

async function applyPending(run: Run, options: ApplyAll): Promise<void> {
  const connection = run.connect(options)
  const user = options.mine === true ? await whoAsks(run, options) : undefined
  if (options.mine === true && user === undefined) return applyOwn(run, connection, options)
  const all = await connection.get<Pending>('/services/pending', options.wide === true ? { render: 'true' } : {})
  const found = chosenOf(all, options, user)
  if (found.changes.length === 0) {
    if (options.json === true) run.json({ changed: false })
    else
      run.terminal.out(
        all.changes.length === 0 ? 'Nothing is pending.\n' : 'None of the pending changes is yours alone.\n',
      )
    return
  }
  if (options.json !== true) await tell(found, { connection, terminal: run.terminal, isWide: options.wide === true })
  await run.agree('Apply?', options.yes)
  const apply = (areSeen: boolean) =>
    connection.ask('PUT', '/services/apply', { body: { ...termsOf(options, areSeen), ...choiceOf(found, options) } })
  // If only some changes are applied, or somebody has edited since, there may be further warnings.
  const areShown = options.json !== true && found.warnings.length > 0
  const applied =
    options.yes === true ? await apply(false) : await applyWarned(run, (isFirst) => apply(areShown || !isFirst))
  tellApplied(run, applied, options)
}

/**
 * Applies the caller's own changes with an API token: only the daemon knows the token's user, so it chooses the
 * changes, and they cannot be shown first.
 */
async function applyOwn(run: Run, connection: Connection, options: ApplyAll): Promise<void> {
  await run.agree('Apply only the changes made by the user of this token?', options.yes)
  const apply = (isFirst: boolean) =>
    connection.ask('PUT', '/services/apply', { body: { ...termsOf(options, !isFirst), mine: true } })
  tellApplied(run, options.yes === true ? await apply(true) : await applyWarned(run, apply), options)
}

/** Returns the pending changes to apply. */
function chosenOf(all: Pending, { mine, only }: ApplyAll, user: string | undefined): Pending {
  if (mine !== true && only === undefined) return all
  refuseStrange(all, only ?? [])
  const isChosen = mine === true ? isOf(user) : ({ id }: PendingChange) => only?.includes(id) === true
  const changes = all.changes.filter(isChosen)
  if (changes.length === all.changes.length) return all
  // Warnings and file differences are those of all changes; those of a part are reported by its apply.
  return { revision: all.revision, changes, warnings: [] }
}

function refuseStrange({ changes }: Pending, ids: readonly string[]): void {
  const strange = ids.find((wanted) => changes.every(({ id }) => id !== wanted))
  if (strange !== undefined) throw new Failure(`there is no pending change ${strange}: fulcrum pending lists them`)
}

/** Returns the e-mail address of the caller; undefined for an API token. */
async function whoAsks(run: Run, common: Common): Promise<string | undefined> {
  const { user, token, url } = run.contextOf(common)
  if (user !== '') return user
  if (token === undefined && socketPathOf(url) !== undefined) return LOCAL_ROOT
  const asked = run.connect(common).get<{ readonly email: string }>('/localUsers/me')
  return asked.then(({ email }) => email, undefinedIfDenied)
}

/** Whether nobody else has edited the change. */
const isOf =
  (user: string | undefined) =>
  ({ by, alsoBy }: PendingChange): boolean =>
    alsoBy.length === 0 && by?.toLowerCase() === user?.toLowerCase()

/** The API accepts at most this many ids. */
const CHOSEN_MAX = 10_000

/** Selects what the user has seen, and nothing that was staged since. */
function choiceOf({ changes }: Pending, { mine, only }: ApplyAll): object {
  if (only !== undefined) return { changes: only }
  if (changes.length > CHOSEN_MAX) return mine === true ? { mine } : {}
  return { changes: changes.map(({ id }) => id) }
}

interface Discarding extends Common {
  readonly mine?: boolean
  readonly all?: boolean
}

async function discard(run: Run, ids: readonly string[], options: Discarding): Promise<void> {
  const connection = run.connect(options)
  const wholes = [options.mine, options.all].filter((one) => one === true).length
  if (wholes + Math.min(ids.length, 1) !== 1) throw new Failure('give ids, --mine or --all')
  if (ids.length === 0)
    return act(run, 'DELETE', '/services/pending', options, options.mine === true ? { mine: 'true' } : {})
  refuseStrange(await connection.get<Pending>('/services/pending'), ids)
  const told = (message: string) => options.json !== true && run.terminal.out(`${printable(message)}.\n`)
  let [before, left]: [number, readonly string[]] = [Number.POSITIVE_INFINITY, ids]
  // Some are refused until others that need them are discarded, so each round has fewer.
  while (left.length > 0) {
    const isLast = left.length === before
    before = left.length
    left = await discardThose(connection, left, isLast, told)
  }
  if (options.json === true) run.json({ discarded: ids })
}

/** Returns those that other changes still need; throws instead if `isLast`. */
async function discardThose(
  connection: Connection,
  ids: readonly string[],
  isLast: boolean,
  told: (message: string) => void,
): Promise<readonly string[]> {
  const needed: string[] = []
  for (const id of ids) {
    try {
      const message = await discardOne(connection, id)
      if (message !== undefined) told(message)
    } catch (error) {
      if (isLast || !(error instanceof Refusal && error.code === 'IN_USE')) throw error
      needed.push(id)
    }
  }
  return needed
}

async function act(
  run: Run,
  method: string,
  path: string,
  common: Common,
  query: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { message, data } = await run.connect(common).ask(method, path, { query })
  if (common.json === true) run.json(data ?? {})
  else run.terminal.out(`${printable(inOwnWords(message))}.\n`)
}

interface Revision {
  readonly revision: number
  readonly by: string
  readonly at: string
  readonly comment: string
  readonly count?: number
}

async function log(run: Run, { number, ...common }: Common & { readonly number: string }): Promise<void> {
  const limit = countIn(number, '-n')
  const revisions = await run.connect(common).get<readonly Revision[]>('/revisions', { limit })
  if (common.json === true) return run.json(revisions)
  const rows = revisions.map(({ revision, by, at, comment, count }) => ({
    revision: String(revision),
    when: `${span((Date.now() - Date.parse(at)) / 1000)} ago`,
    by,
    changes: String(count ?? ''),
    comment,
  }))
  run.terminal.out(table(rows, ['revision', 'when', 'by', 'changes', 'comment'], run.terminal.columns))
}
