import type { Command } from 'commander'
import { type Change, type Changes, tell, untilTakenBack } from '../changes.ts'
import { collect, type Common, optionsOf, readText, type Run, secondsIn, undefinedIfDenied } from '../command.ts'
import type { Connection } from '../connection.ts'
import type { Document } from '../documents.ts'
import { Failure } from '../failure.ts'
import { printable } from '../output.ts'
import { inOwnWords } from '../own-words.ts'
import { writePrivately } from '../private-file.ts'

/**
 * A plan that deletes more records than this, or more than a third of its owner's, asks the user to type their number.
 */
const GONE_MAX = 10

export interface PlanOptions extends Common {
  readonly file?: readonly string[]
  readonly prune?: boolean
  readonly takeOver?: boolean
  readonly out?: string
  readonly wide?: boolean
}

/** Options of every apply. */
export interface ApplyOptions extends Common {
  readonly yes?: boolean
  readonly confirm?: string
  readonly message?: string
  readonly acceptWarnings?: boolean
}

/** A plan in a file: its input, and its result. */
interface PlanFile {
  readonly fulcrumPlan: 1
  readonly document: Document
  readonly prune: boolean
  readonly takeOver: boolean
  readonly digest: string
  /** The warnings that the plan had when it was reviewed. */
  readonly warnings: Changes['warnings']
}

interface Planned extends Changes {
  readonly planId: string
  readonly digest: string
  readonly baseRevision: number
}

/** Adds the commands for the configuration in a file. */
export function addFile(program: Command, run: Run): void {
  program
    .command('export')
    .description('print the configuration as a document')
    .argument('[sections...]', 'only these sections, for example realServers or l7Backends')
    .option('--owner <name>', 'only records of this owner')
    .action((sections: readonly string[], _options: unknown, command: Command) =>
      exportDocument(run, sections, optionsOf(command)),
    )
  program
    .command('import')
    .description('convert a haproxy.cfg into a document, and print it')
    .argument('<form>', 'haproxy')
    .argument('<file>', 'file, or - for standard input')
    .option('--owner <name>', 'owner of the imported records')
    .action((form: string, path: string, _options: unknown, command: Command) => {
      if (form !== 'haproxy') throw new Failure(`${form} cannot be imported: use haproxy`)
      return importCfg(run, path, optionsOf(command))
    })
  program
    .command('plan')
    .description('show what applying a document would change; exit code 0: nothing, 2: changes, 1: error')
    .requiredOption('-f, --file <file>', 'document, folder of documents, or - (repeatable)', collect)
    .option('--prune', 'delete records of the document’s owner that are not in the document')
    .option('--take-over', 'also change records of other owners, and take ownership')
    .option('--out <file>', 'save the plan for fulcrum apply FILE')
    .option('-w, --wide', 'show every field, and the diff of the generated files')
    .action((_options: unknown, command: Command) => planFile(run, optionsOf<PlanOptions>(command)))
  program
    .command('validate')
    .description('check a document as an apply would, without changing anything')
    .requiredOption('-f, --file <file>', 'document, folder of documents, or - (repeatable)', collect)
    .action((_options: unknown, command: Command) => validateFile(run, optionsOf<PlanOptions>(command)))
  program
    .command('schema')
    .description('print the JSON schema of documents, for editors')
    .action(async (_options: unknown, command: Command) => {
      const { text } = await run.connect(optionsOf(command)).ask('GET', '/config/schema.json')
      run.json(JSON.parse(text))
    })
}

interface Imported {
  readonly document: Document
  readonly certificates: readonly { readonly name: string; readonly path: string }[]
  readonly notUnderstood: readonly Remark[]
  readonly remarks: readonly Remark[]
}
interface Remark {
  readonly line: number
  readonly text: string
  readonly why: string
}

/** Comments are often in another encoding, and the import reports any other line that is. */
const CFG = { isAnyText: true } as const

/** The document goes to standard output, remarks to standard error. */
async function importCfg(run: Run, path: string, { owner, ...common }: Common & { readonly owner?: string }) {
  const haproxyCfg = path === '-' ? await run.terminal.input('the haproxy.cfg', CFG) : readText(path, CFG)
  const body = { haproxyCfg, ...(owner === undefined ? {} : { owner }) }
  const { data } = await run.connect(common).ask<Imported>('POST', '/config/import', { body })
  const document = escaped(data.document) as Document
  if (common.json === true) return run.json({ ...data, document })
  const { certificates, notUnderstood, remarks } = data
  const pems = certificates.map(({ name, path: pem }) => [name, { pem: `\${file:${pem}}` }] as const)
  const whole = pems.length === 0 ? document : { ...document, certificates: Object.fromEntries(pems) }
  const { written } = await import('../documents.ts')
  run.terminal.data(written(whole))
  const told = ({ line, text, why }: Remark) => `  ${line}: ${printable(text)}\n      ${printable(why)}\n`
  const counted = (count: number) => `${count} ${count === 1 ? 'line' : 'lines'}`
  if (remarks.length > 0) run.terminal.err(`Notes on ${counted(remarks.length)}:\n`)
  for (const remark of remarks) run.terminal.err(told(remark))
  run.terminal.err(`${counted(notUnderstood.length)} not understood${notUnderstood.length === 0 ? '.' : ':'}\n`)
  for (const remark of notUnderstood) run.terminal.err(told(remark))
}

/** Escapes placeholders, so that reading the file does not replace text in records. */
function escaped(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/\$(?=\{(?:env|file):)/g, '$$$$')
  if (Array.isArray(value)) return value.map(escaped)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, escaped(field)]))
}

async function exportDocument(
  run: Run,
  sections: readonly string[],
  { owner, json, ...common }: Common & { readonly owner?: string },
): Promise<void> {
  const query = { owner, sections: sections.length === 0 ? undefined : sections.join(',') }
  const document = escaped(await run.connect(common).get<Document>('/config/document', query)) as Document
  if (json === true) return run.json(document)
  const { url } = run.contextOf(common)
  const { written } = await import('../documents.ts')
  // Editors fetch the schema, which they cannot do through a socket.
  const schema = url.startsWith('http') ? `# yaml-language-server: $schema=${url}/api/v1/config/schema.json\n` : ''
  run.terminal.data(`${schema}${written(document)}`)
}

export async function readWanted(run: Run, { file = [], prune = false, takeOver = false }: PlanOptions) {
  const input = file.includes('-') ? await run.terminal.input('the document') : ''
  // Loaded on demand: most commands read no documents, and loading a YAML parser takes time.
  const { readDocuments } = await import('../documents.ts')
  return { document: readDocuments(file, () => input, run.env), prune, takeOver }
}

const plan = async (connection: Connection, body: object): Promise<Planned> =>
  (await connection.ask<Planned>('POST', '/config/plan', { body })).data

async function planFile(run: Run, options: PlanOptions): Promise<void> {
  const connection = run.connect(options)
  const wanted = await readWanted(run, options)
  const planned = await plan(connection, wanted)
  if (options.out !== undefined) {
    const kept: PlanFile = { fulcrumPlan: 1, ...wanted, digest: planned.digest, warnings: planned.warnings }
    // A document may contain secrets.
    writePrivately(options.out, `${JSON.stringify(kept)}\n`)
  }
  if (options.json === true) run.json(planned)
  else await tell(planned, { connection, terminal: run.terminal, isWide: options.wide === true })
  run.exitCode = planned.changes.length === 0 ? 0 : 2
}

async function validateFile(run: Run, options: PlanOptions): Promise<void> {
  const { warnings } = await plan(run.connect(options), await readWanted(run, options))
  if (options.json === true) return run.json({ warnings })
  for (const { code, message } of warnings) run.terminal.out(`${printable(`! ${code} ${message}`)}\n`)
  run.terminal.out('The document is valid.\n')
}

/** Applies a document, or a stored plan. */
export async function applyFile(
  run: Run,
  planned: string | undefined,
  options: PlanOptions & ApplyOptions,
): Promise<void> {
  const connection = run.connect(options)
  const kept = planned === undefined ? undefined : readPlan(planned)
  const { document, prune, takeOver } = kept ?? (await readWanted(run, options))
  const found = await plan(connection, { document, prune, takeOver })
  if (kept !== undefined && kept.digest !== found.digest)
    throw new Failure(`${planned} would now do something else: create and review a new plan`)
  if (options.json !== true) await tell(found, { connection, terminal: run.terminal, isWide: options.wide === true })
  if (found.changes.length === 0) {
    await refuseWaiting(connection)
    if (options.json === true) run.json({ changed: false })
    return
  }
  if (kept === undefined) await agreeTo(run, found, document, options)
  const areShown = options.json !== true && options.yes !== true
  const areSeen = kept === undefined ? areShown : areAmong(found.warnings, kept.warnings)
  const terms = termsOf(options, found.warnings.length > 0 && areSeen)
  const applied = await connection.ask('PUT', `/config/plans/${encodeURIComponent(found.planId)}/apply`, {
    body: terms,
  })
  tellApplied(run, applied, options)
}

interface Waiting {
  readonly state: string
  readonly revision: number
  readonly by: string
  readonly secondsLeft: number
}

/** "Nothing would change" sounds permanent, but an apply that waits for its confirmation is still taken back. */
async function refuseWaiting(connection: Connection): Promise<void> {
  const path = '/services/apply'
  // A user who may apply documents need not have the right to read this.
  const found = await connection.get<Waiting>(path).catch(undefinedIfDenied)
  if (found?.state !== 'waiting') return
  const { revision, by, secondsLeft } = found
  throw new Failure(
    `The running revision ${revision} by ${by} already matches the document, and ${untilTakenBack(secondsLeft)}`,
  )
}

/** Compares warnings without their texts, which contain ids: new records get new ids with each plan. */
const areAmong = (now: Changes['warnings'], then: Changes['warnings']): boolean =>
  now.every((one) =>
    then.some(({ code, resource, name }) => code === one.code && resource === one.resource && name === one.name),
  )

function readPlan(path: string): PlanFile {
  const text = readText(path)
  let read: Partial<PlanFile> = {}
  try {
    read = Object(JSON.parse(text)) as Partial<PlanFile>
  } catch {
    // The same as JSON that is no plan.
  }
  const { fulcrumPlan, document, prune = false, takeOver = false, digest, warnings = [] } = read
  if (fulcrumPlan !== 1 || document === undefined || digest === undefined)
    throw new Failure(`${path} is not a plan: create one with fulcrum plan --out, or apply a document with -f ${path}`)
  return { fulcrumPlan, document, prune, takeOver, digest, warnings }
}

async function agreeTo(run: Run, { changes }: Planned, document: Document, { yes }: ApplyOptions): Promise<void> {
  const { isRecord, recordsIn } = await import('../documents.ts')
  const count = (wanted: Change['op']) => changes.filter((change) => change.op === wanted && isRecord(change)).length
  const gone = count('delete')
  // Deletions concern the owner's records, and so does everything in the document that is not created.
  const owned = gone + recordsIn(document) - count('create')
  if (gone > GONE_MAX || gone > owned / 3)
    await run.agree(`${gone} records will be deleted. Type that number to continue:`, yes, { answer: String(gone) })
  else await run.agree('Apply?', yes)
}

/** Returns the options to send; `isSeen`: the warnings were shown, and the user has agreed. */
export function termsOf({ confirm, message, acceptWarnings }: ApplyOptions, isSeen: boolean): object {
  return {
    ...(confirm === undefined ? {} : { confirmWithin: secondsIn(confirm) }),
    ...(message === undefined ? {} : { comment: message }),
    refuseWarnings: acceptWarnings !== true && !isSeen,
  }
}

interface Applied {
  readonly revision: number
  readonly confirmBy: string | null
}

/** Prints the outcome. */
export function tellApplied(
  run: Run,
  { data, message }: { readonly data: unknown; readonly message: string },
  { json, confirm }: ApplyOptions,
): void {
  if (json === true) return run.json(data)
  const { revision, confirmBy }: Partial<Applied> = Object(data)
  run.terminal.out(`${printable(inOwnWords(message))}.${revision === undefined ? '' : ` Revision ${revision} runs.`}\n`)
  // Shows the time that was requested, because the clock of this machine may differ from that of the node.
  if (typeof confirmBy === 'string' && confirm !== undefined)
    run.terminal.out(`It ${untilTakenBack(secondsIn(confirm))}\n`)
}
