import type { Command } from 'commander'
import { type Common, countIn, optionsOf, readText, type Run } from '../command.ts'
import { type Connection, Refusal } from '../connection.ts'
import { Failure } from '../failure.ts'
import { journalHere } from '../journal.ts'
import { printable, span, table } from '../output.ts'
import { writePrivately } from '../private-file.ts'
import { followed, recordIfNamed } from './records.ts'

type Data = Readonly<Record<string, unknown>>

/** Adds the commands for backups, certificates and the support file. */
export function addCare(program: Command, run: Run): void {
  addBackups(program.command('backup').description('back up the configuration to a file, and restore it'), run)
  addCertificates(program.command('cert').description('upload certificates, and list those that expire soon'), run)
  program
    .command('diagnose')
    .description('write a support file: versions, checks, settings without secrets, and the journal')
    .argument('[file]', 'default: fulcrum-diagnose.json; - is standard output')
    .action((file: string | undefined, _options: unknown, command: Command) =>
      diagnose(run, file ?? 'fulcrum-diagnose.json', optionsOf(command)),
    )
}

function addBackups(backup: Command, run: Run): void {
  backup
    .command('create')
    .description('write the running configuration to a file readable only by you (it contains private keys)')
    .argument('<file>', '- is standard output')
    .option('--passphrase', 'ask for a passphrase that encrypts the secrets in the file')
    .action((file: string, _options: unknown, command: Command) => create(run, file, optionsOf(command)))
  backup
    .command('list')
    .description('list the backups stored on the appliance')
    .action((_options: unknown, command: Command) => list(run, optionsOf(command)))
  backup
    .command('restore')
    .description('stage a backup or some of its sections; activate it with fulcrum apply')
    .argument('<file>', 'local file')
    .argument('[sections...]', 'for example layer7proxy or certs (default: everything, on a single node)')
    .option('--passphrase', 'ask for the passphrase of the backup')
    .action((file: string, sections: readonly string[], _options: unknown, command: Command) =>
      restore(run, file, sections, optionsOf(command)),
    )
}

interface Sealed extends Common {
  readonly passphrase?: boolean
}

/**
 * A new backup needs a passphrase that the API accepts; an existing one may have any that a header can hold, or none if
 * it is empty.
 */
const PASSPHRASES = {
  new: { form: /^[\x20-\x7e]{8,256}$/, why: 'a passphrase has 8 to 256 printable ASCII characters' },
  known: { form: /^[\x20-\x7e]+$/, why: 'the passphrase of a backup consists of printable ASCII characters' },
} as const

/** The variable is enough: who sets it and forgets the option would have private keys in a readable file. */
async function passphraseHeader(
  run: Run,
  { passphrase }: Sealed,
  which: keyof typeof PASSPHRASES,
): Promise<Readonly<Record<string, string>>> {
  if (passphrase !== true && (run.env['FULCRUM_PASSPHRASE'] ?? '') === '') return {}
  const given = await run.secret('Passphrase: ', 'FULCRUM_PASSPHRASE', { isNew: which === 'new' })
  // A header cannot have spaces at its ends.
  const phrase = given.trim()
  const { form, why } = PASSPHRASES[which]
  if (!form.test(phrase)) throw new Failure(why)
  return { 'x-backup-passphrase': phrase }
}

async function create(run: Run, file: string, options: Sealed): Promise<void> {
  const headers = await passphraseHeader(run, options, 'new')
  const { text } = await run.connect(options).ask('GET', '/backup', { headers })
  if (file === '-') return run.terminal.data(text)
  writePrivately(file, text)
  run.told(options, `The running configuration is in ${file}`, { file })
}

interface Backup {
  readonly file: string
  readonly dateTime: string
}

async function list(run: Run, common: Common): Promise<void> {
  const kinds = await run.connect(common).get<Readonly<Record<string, readonly Backup[]>>>('/backup/list')
  if (common.json === true) return run.json(kinds)
  const rows = Object.entries(kinds).flatMap(([kind, backups]) =>
    (Array.isArray(backups) ? backups : []).map(({ file, dateTime }) => ({ kind, file, made: dateTime })),
  )
  run.terminal.out(
    rows.length === 0 ? 'There are no backups.\n' : table(rows, ['kind', 'file', 'made'], run.terminal.columns),
  )
}

async function restore(run: Run, path: string, sections: readonly string[], options: Sealed): Promise<void> {
  const connection = run.connect(options)
  const backup = readText(path)
  const headers = await passphraseHeader(run, options, 'known')
  const stored = await connection.ask('POST', '/backup/upload', { body: { backup } })
  const file = /stored as (\S+)$/.exec(stored.message)?.[1]
  if (file === undefined) throw new Failure('the daemon did not return the name of the backup')
  try {
    const body = { file, ...(sections.length === 0 ? {} : { sections }) }
    const { message, job } = await connection.ask('POST', '/backup/restore', { body, headers })
    if (job !== undefined) await followed(run, connection, job)
    run.told(options, message, { file: path, job })
  } finally {
    await takeBack(run, connection, file)
  }
}

/** Deletes a backup that was uploaded for one restore: it may hold private keys, and there is room for few. */
async function takeBack(run: Run, connection: Connection, file: string): Promise<void> {
  try {
    await connection.ask('DELETE', `/backup/${encodeURIComponent(file)}`)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    run.terminal.err(`${printable(`The appliance still has its copy ${file}: ${error.message}`)}\n`)
  }
}

function addCertificates(cert: Command, run: Run): void {
  cert
    .command('add')
    .description(
      'upload a certificate with its chain and key, or replace the certificate of that name wherever it is used',
    )
    .argument('<name>')
    .argument('<files...>', 'PEM files: certificate, chain, key; - is standard input')
    .option('--force', 'even if it has expired or is not valid yet')
    .action((name: string, files: readonly string[], _options: unknown, command: Command) =>
      addCertificate(run, name, files, optionsOf(command)),
    )
  cert
    .command('expiring')
    .description('list certificates that expire soon; exit code 1 if there are any')
    .option('--days <number>', 'number of days to look ahead', '30')
    .action((_options: unknown, command: Command) => expiring(run, optionsOf(command)))
}

/** What stands between the blocks does not matter. */
const PEM = { isAnyText: true } as const

async function addCertificate(
  run: Run,
  name: string,
  files: readonly string[],
  { force, ...common }: Common & { readonly force?: boolean },
): Promise<void> {
  const connection = run.connect(common)
  const input = files.includes('-') ? await run.terminal.input('the certificate and its key', PEM) : ''
  const pem = files.map((file) => (file === '-' ? input : readText(file, PEM))).join('\n')
  const body = { pem, ...(force === true ? { force } : {}) }
  const known = await recordIfNamed(connection, '/certificates/certs', name)
  const { message, data } =
    known === undefined
      ? await connection.ask<object>('POST', '/certificates/certs', { body: { name, ...body } })
      : await connection.ask<object>('PUT', `/certificates/certs/${known.id}`, { body })
  run.told(common, `${message}. To put it into use, run: fulcrum apply`, { ...known, ...data })
}

async function expiring(run: Run, { days, ...common }: Common & { readonly days: string }): Promise<void> {
  const within_s = countIn(days, '--days') * 86_400
  const all = await run.connect(common).list<Data>('/certificates/certs')
  const left = (one: Data) => (Date.parse(String(one['validTo'])) - Date.now()) / 1000
  const soon = all.filter((one) => left(one) < within_s).toSorted((a, b) => left(a) - left(b))
  run.exitCode = soon.length === 0 ? 0 : 1
  if (common.json === true) return run.json(soon)
  const rows = soon.map((one) => ({
    name: String(one['name']),
    until: String(one['validTo']).slice(0, 10),
    left: left(one) < 0 ? 'over' : span(left(one)),
  }))
  run.terminal.out(
    rows.length === 0
      ? `No certificate expires within ${days === '1' ? 'a day' : `${days} days`}.\n`
      : table(rows, ['name', 'until', 'left'], run.terminal.columns),
  )
}

/** Paths to fetch for the support file: none of the answers holds a secret. */
const ASKED = [
  '/overview',
  '/services',
  '/services/apply',
  '/services/pending',
  '/revisions?limit=20',
  '/jobs',
  '/cluster',
  '/config/document',
  '/certificates/certs',
  '/alerts',
  '/alerts/deliveries',
  '/ipvsDirector/rips',
  '/backup/list',
  '/audit?limit=200',
] as const

async function diagnose(run: Run, file: string, common: Common): Promise<void> {
  const journal = await journalHere()
  const answers: Record<string, unknown> = {}
  let unreached: string | undefined
  try {
    const connection = run.connect(common)
    for (const path of ASKED) {
      run.terminal.err(`${path}\n`)
      answers[path] = await answerTo(connection, path)
    }
  } catch (error) {
    // The file is also for a daemon that is down, provided there is anything else to report.
    if (journal.length === 0 || !(error instanceof Failure)) throw error
    unreached = error.message
    run.terminal.err(`${printable(unreached)}\n`)
  }
  const made = { madeAt: new Date().toISOString(), unreached, answers, journal }
  if (file === '-') return run.json(made)
  writePrivately(file, `${JSON.stringify(made, null, 2)}\n`)
  const [asked, lines] = [Object.keys(answers).length, journal.length]
  const has = `the answers to ${asked} requests and ${lines} lines of this machine's journal`
  run.told(
    common,
    `${file} contains ${has}, including names and addresses, but no secrets unless a rule or a raw line contains one`,
    { file },
  )
}

/** If the caller may not see it, or the daemon does not have it, the file says so. */
async function answerTo(connection: Connection, path: string): Promise<unknown> {
  try {
    return await connection.get(path)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { refused: error.code, message: error.refused.message }
  }
}
