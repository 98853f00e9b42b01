import { hostname, userInfo } from 'node:os'
import type { Command } from 'commander'
import { type Common, countIn, optionsOf, type Run } from '../command.ts'
import { Connection, isSameFingerprint, placeOf, Refusal, shownBy } from '../connection.ts'
import { addressOf, type Context, NONE_CURRENT } from '../contexts.ts'
import { Failure } from '../failure.ts'
import { table } from '../output.ts'

interface LoginOptions extends Common {
  readonly user?: string
  readonly name?: string
  readonly fingerprint?: string
  readonly days: string
}

/** Adds the commands for logging in, logging out, and switching between daemons. */
export function addLogin(program: Command, run: Run): void {
  program
    .command('login')
    .description('log in to a daemon, and store an API token for it')
    .argument('<url>', 'for example https://lb1:9443')
    .option('-u, --user <email>', 'e-mail of the user')
    .option('-n, --name <name>', 'name of the context (default: the host)')
    .option('--fingerprint <sha256>', 'expected certificate, instead of asking')
    .option('--days <number>', 'lifetime of the token in days', '90')
    .action((url: string, _options: unknown, command: Command) => login(run, url, optionsOf<LoginOptions>(command)))
  program
    .command('logout')
    .description('revoke the token and delete the context')
    .action((_options: unknown, command: Command) => logout(run, optionsOf(command)))
  program
    .command('contexts')
    .description('list the contexts (daemons you logged in to), or choose one')
    .argument('[context]', 'context to use from now on')
    .action((name: string | undefined, _options: unknown, command: Command) => contexts(run, name, optionsOf(command)))
}

async function login(run: Run, given: string, options: LoginOptions): Promise<void> {
  const { terminal } = run
  const url = addressOf(given)
  const days = countIn(options.days, '--days')
  const name = options.name ?? placeOf(url).host
  const before = replaceable(run, name, url)
  const fingerprint = await accepted(run, url, options.fingerprint)
  const user = options.user ?? (await run.ask('E-mail: ', 'use --user'))
  const password = await run.secret('Password: ', 'FULCRUM_PASSWORD')
  const stranger = new Connection({ url, fingerprint })
  const code = async () => (await terminal.ask('Code from the second factor: ')).trim()
  const session = await stranger.logIn({ email: user, password, code }).finally(() => stranger.close())
  const connection = new Connection({ url, fingerprint, token: session })
  try {
    const token = await tokenFor(connection, days)
    const until = new Date(Date.now() + days * 86_400_000).toISOString()
    const context = { url, user, token, fingerprint, until }
    try {
      run.contexts.keep(name, context)
    } catch (error) {
      await revoked(context)
      throw error
    }
    if (before !== undefined) await revoked({ ...before, fingerprint })
    if (options.json === true) run.json({ context: name, url, user })
    else terminal.out(`Logged in to ${url} as ${user}. The context is called ${name}.\n`)
  } finally {
    await connection.ask('DELETE', '/token').catch(() => undefined)
    connection.close()
  }
}

/**
 * Returns the context of this name, which the login replaces. A context of another daemon is not replaced: its token
 * would stay valid, and nobody would know it.
 */
function replaceable(run: Run, name: string, url: string): Context | undefined {
  const { contexts: known } = run.contexts.all()
  const before = Object.hasOwn(known, name) ? known[name] : undefined
  if (before === undefined || new URL(before.url).origin === url) return before
  const advice = `choose another name with --name, or log out of it first: fulcrum logout -c ${name}`
  throw new Failure(`the context ${name} is ${before.url}: ${advice}`)
}

/** Creates a token. A second login from this account, or one under another context name, finds the usual name taken. */
async function tokenFor(connection: Connection, expiresInDays: number): Promise<string> {
  const name = `fulcrum of ${userInfo().username}@${hostname()}`
  const made = (as: string) =>
    connection.ask<{ readonly token: string }>('POST', '/localUsers/me/tokens', { body: { name: as, expiresInDays } })
  const { data } = await made(name).catch((error: unknown) => {
    if (!(error instanceof Refusal) || error.code !== 'NAME_NOT_UNIQUE') throw error
    return made(`${name}, ${new Date().toISOString()}`)
  })
  return data.token
}

/** Revokes a token that is about to be forgotten, if the daemon still knows it. */
async function revoked(context: Context): Promise<void> {
  const connection = new Connection(context)
  await connection.ask('DELETE', '/token').catch(() => undefined)
  connection.close()
}

/**
 * Returns the fingerprint of the certificate to accept; undefined if an authority that this machine trusts has issued
 * it.
 */
async function accepted(run: Run, url: string, expected: string | undefined): Promise<string | undefined> {
  if (url.startsWith('http:')) return undefined
  const shown = await shownBy(url)
  if (expected !== undefined) {
    if (!isSameFingerprint(expected, shown.fingerprint))
      throw new Failure(`${url} has a different certificate: ${shown.fingerprint}`)
    return shown.fingerprint
  }
  if (shown.isTrusted) return undefined
  run.terminal.err(
    `The certificate of ${url} is not signed by a trusted authority. Its SHA-256 fingerprint is\n  ${shown.fingerprint}\n`,
  )
  await run.agree('Is this the right one?', false, { instead: 'use --fingerprint SHA256' })
  return shown.fingerprint
}

async function logout(run: Run, options: Common): Promise<void> {
  const name = run.contexts.nameOf(options.context)
  const context = run.contextOf(options)
  if (context.token === undefined) throw new Failure(`${context.url} needs no login, so there is nothing to log out of`)
  const why = await run
    .connect(options)
    .ask('DELETE', '/token')
    .then(() => undefined, whyKept)
  // A daemon that is gone cannot be told: the context is removed all the same.
  const isNoneCurrent = name !== undefined && run.contexts.remove(name)
  const next = isNoneCurrent ? `. From now on ${NONE_CURRENT}` : ''
  if (why !== undefined) {
    // The daemon's message says what has ended on which node.
    if (why instanceof Refusal && why.code === 'NO_QUORUM') throw new Failure(`${why.message}${next}`)
    const kept = `the token stays valid until ${context.until ?? 'it ends, or is revoked'}`
    // API tokens may not see each other.
    throw new Failure(`${why.message}: ${kept}; your account on the admin page lists it${next}`)
  }
  run.told(options, `Logged out of ${context.url}${next}`, { context: name, url: context.url })
}

/** Undefined if the daemon no longer knows the token. */
function whyKept(error: unknown): Failure | undefined {
  if (!(error instanceof Failure)) throw error
  const isGone = error instanceof Refusal && ['UNAUTHENTICATED', 'TOKEN_EXPIRED'].includes(error.code)
  return isGone ? undefined : error
}

function contexts(run: Run, name: string | undefined, options: Common): void {
  if (name !== undefined) run.contexts.use(name)
  const { current, contexts: all } = run.contexts.all()
  const rows = Object.entries(all).map(([one, { url, user }]) => ({
    '': one === current ? '*' : '',
    name: one,
    url,
    user,
  }))
  if (options.json === true) run.json(rows.map(({ '': mark, ...row }) => ({ ...row, isCurrent: mark === '*' })))
  else if (rows.length === 0) run.terminal.out('Not logged in; run fulcrum login https://HOST:9443\n')
  else run.terminal.out(table(rows, ['', 'name', 'url', 'user'], run.terminal.columns))
}
