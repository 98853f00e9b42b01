import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import { applyAlone, type Moving, moving, tellAlone, unless } from './alone.ts'
import { type Common, optionsOf, type Run, secondsIn, undefinedIfDenied } from '../command.ts'
import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import { printable, type Row, table } from '../output.ts'
import { Unreachable } from '../unreachable.ts'

type Data = Readonly<Record<string, unknown>>

const SERVERS = '/ipvsDirector/rips'
/** The resulting state of a real server, and how it is reported. */
const MOVES = {
  drain: ['drained', 'is drained'],
  halt: ['halted', 'is taken out of all backends'],
  online: ['online', 'takes traffic'],
} as const

/** A kind of records, by the name users type. */
interface Kind {
  readonly paths: readonly string[]
  readonly columns: readonly string[]
  readonly row: (record: Data, nodeName: (id: string) => string) => Row
  /** Its rows name nodes, whose names are fetched for a table. */
  readonly namesNodes?: true
  /** The API returns the list in one page, whatever its length. */
  readonly isWhole?: true
}

const text = (value: unknown): string =>
  typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value)
const count = (value: unknown): string => (Array.isArray(value) ? String(value.length) : '')
const onOff = (value: unknown): string => (value === false ? 'off' : 'on')

export const KINDS: Readonly<Record<string, Kind>> = {
  services: {
    paths: ['/layer7proxy/frontends', '/ipvsDirector/frontends'],
    columns: ['name', 'layer', 'address', 'ports', 'mode', 'state', 'owner'],
    row: ({ name, ip, ports, mode, protocol, enabled, owner }) => ({
      name: text(name),
      layer: mode === undefined ? '4' : '7',
      address: text(ip),
      ports: text(ports),
      mode: text(mode ?? protocol),
      state: onOff(enabled),
      owner: text(owner),
    }),
  },
  backends: {
    paths: ['/layer7proxy/backends', '/ipvsDirector/backends'],
    columns: ['name', 'layer', 'balance', 'servers', 'check', 'owner'],
    row: ({ name, mode, balance, scheduler, reals, healthCheck, owner }) => ({
      name: text(name),
      layer: mode === undefined ? '4' : '7',
      balance: text(balance ?? scheduler),
      servers: count(reals),
      check: text(Reflect.get(Object(healthCheck), 'type')),
      owner: text(owner),
    }),
  },
  servers: {
    paths: [SERVERS],
    columns: ['name', 'address', 'port', 'weight', 'state', 'health', 'owner'],
    row: ({ name, ip, port, weight, state, health, owner }) => ({
      name: text(name),
      address: text(ip),
      port: text(port ?? 'any'),
      weight: text(weight),
      state: text(state),
      health: text(health),
      owner: text(owner),
    }),
  },
  certs: {
    paths: ['/certificates/certs'],
    columns: ['name', 'names', 'until', 'used by'],
    row: ({ name, certInfo, validTo, usage }) => ({
      name: text(name),
      names: (Reflect.get(Object(certInfo), 'subjectAlt') ?? []).join(' '),
      until: text(validTo).slice(0, 10),
      'used by': count(usage),
    }),
  },
  checks: {
    paths: ['/healthchecks'],
    columns: ['name', 'for', 'description'],
    row: ({ name, services, description }) => ({
      name: text(name),
      for: ((services ?? []) as readonly string[]).join(' '),
      description: text(description),
    }),
  },
  users: {
    paths: ['/localUsers/users'],
    columns: ['email', 'first name', 'last name', 'state'],
    row: ({ email, firstName, lastName, disabled }) => ({
      email: text(email),
      'first name': text(firstName),
      'last name': text(lastName),
      state: onOff(disabled !== true && disabled !== 'true'),
    }),
  },
  roles: {
    paths: ['/rbac/roles'],
    columns: ['name', 'users', 'groups'],
    row: ({ name, users, groups }) => ({ name: text(name), users: count(users), groups: count(groups) }),
  },
  groups: {
    paths: ['/rbac/groups'],
    columns: ['name', 'id', 'users', 'roles'],
    row: ({ name, id, users, roles }) => ({ name: text(name), id: text(id), users: count(users), roles: count(roles) }),
  },
  addresses: {
    paths: ['/fips'],
    columns: ['address', 'state', 'holder'],
    namesNodes: true,
    row: ({ ip, enabled, holder }, nodeName) => ({
      address: text(ip),
      state: onOff(enabled),
      holder: nodeName(text(holder)),
    }),
  },
  jobs: {
    paths: ['/jobs'],
    isWhole: true,
    columns: ['title', 'state', 'progress', 'step', 'id'],
    row: ({ id, title, state, progress, step }) => ({
      id: text(id),
      title: text(title),
      state: text(state),
      progress: text(progress),
      step: text(step),
    }),
  },
}

/** Returns the names of all records of one kind. */
export async function namesOf(connection: Connection, kind: string): Promise<readonly string[]> {
  return (await recordsOf(connection, kindOf(kind))).map(nameOf)
}

/** Returns the name by which a record is found. */
const nameOf = (record: Data): string => text(record['name'] ?? record['email'] ?? record['ip'] ?? record['id'])

/** Adds the commands for records, and for the daily work with real servers. */
export function addRecords(program: Command, run: Run): void {
  program
    .command('get')
    .description(`list records, or show one; kinds: ${Object.keys(KINDS).join(', ')}`)
    .argument('<kind>')
    .argument('[record]', 'its name')
    .option('-o, --output <form>', 'table, yaml, json or name', 'table')
    .action((kind: string, name: string | undefined, _options: unknown, command: Command) =>
      get(run, kind, name, optionsOf(command)),
    )
  const server = program.command('server').description('drain, halt or bring online a real server, or set its weight')
  const verb = (name: string, description: string) =>
    moving(server.command(name).description(description).argument('<server>', 'its name'))
  verb('drain', 'keep connections, but send no new clients')
    .option('--wait <time>', 'apply, and wait this long for the connections to end')
    .option('--halt', 'with --wait: halt the server once they have ended or the time is up')
    .action((name: string, _options: unknown, command: Command) => drain(run, name, optionsOf<Draining>(command)))
  verb('halt', 'take the server out of all backends').action((name: string, _options: unknown, command: Command) =>
    move(run, name, 'halt', optionsOf<Moving>(command)),
  )
  verb('online', 'send traffic to the server again').action((name: string, _options: unknown, command: Command) =>
    move(run, name, 'online', optionsOf<Moving>(command)),
  )
  verb('weight', 'set the weight')
    .argument('<weight>', '0 to 256')
    .action((name: string, weight: string, _options: unknown, command: Command) =>
      weigh(run, name, weight, optionsOf<Moving>(command)),
    )
}

function kindOf(name: string): Kind {
  const found = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined
  if (found !== undefined) return found
  throw new Failure(`there is no kind ${name}; the kinds are ${Object.keys(KINDS).join(', ')}`)
}

async function recordsOf(connection: Connection, { paths, isWhole }: Kind): Promise<readonly Data[]> {
  const read = (path: string) =>
    isWhole === true ? connection.get<readonly Data[]>(path) : connection.list<Data>(path)
  return (await Promise.all(paths.map(read))).flat()
}

async function get(
  run: Run,
  kindName: string,
  name: string | undefined,
  { output, ...common }: Common & { readonly output: string },
): Promise<void> {
  const kind = kindOf(kindName)
  const form = common.json === true ? 'json' : output
  const all = await recordsOf(run.connect(common), kind)
  const found = name === undefined ? all : all.filter((record) => nameOf(record).toLowerCase() === name.toLowerCase())
  if (name !== undefined && found.length === 0) throw new Failure(`there is no ${name} in ${kindName}`)
  // Both layers may have a backend of this name: several are shown as a list, as without a name.
  const shown = name !== undefined && found.length === 1 ? found[0] : found
  if (form === 'json') run.json(shown)
  else if (form === 'yaml') run.terminal.data((await import('../documents.ts')).written(shown))
  else if (form === 'name') run.terminal.data(found.map((record) => `${nameOf(record)}\n`).join(''))
  else if (form === 'table') {
    const names = kind.namesNodes === true ? await nodeNames(run.connect(common)) : undefined
    const rows = found.map((record) => kind.row(record, (id) => names?.get(id) ?? id))
    run.terminal.out(table(rows, kind.columns, run.terminal.columns))
  } else throw new Failure(`-o ${form}: use table, yaml, json or name`)
}

interface Nodes {
  readonly nodes: readonly { readonly id: string; readonly name: string }[]
}

/** Returns the names of all nodes by id; none if the caller may not read them. */
async function nodeNames(connection: Connection): Promise<ReadonlyMap<string, string>> {
  const found = await connection.get<Nodes>('/overview').catch(undefinedIfDenied)
  return new Map(found?.nodes.map(({ id, name }) => [id, name]))
}

interface Draining extends Moving {
  readonly wait?: string
  readonly halt?: boolean
}

/** Returns the record of this name, if there is one. After a restore there may be several, which is a failure. */
export async function recordIfNamed<T extends { readonly id: string }>(
  connection: Connection,
  path: string,
  name: string,
): Promise<T | undefined> {
  const found = await connection.list<T>(path, { name })
  if (found.length < 2) return found[0]
  const ids = found.map(({ id }) => id).join(', ')
  throw new Failure(`several records are named ${name} (${ids}): rename all but one with fulcrum api PUT ${path}/ID`)
}

/** Returns the record of this name; fails if there is none. */
export async function recordNamed<T extends { readonly id: string }>(
  connection: Connection,
  { path, what, list }: { readonly path: string; readonly what: string; readonly list: string },
  name: string,
): Promise<T> {
  const found = await recordIfNamed<T>(connection, path, name)
  if (found === undefined) throw new Failure(`there is no ${what} ${name}: fulcrum get ${list}`)
  return found
}

type Server = Data & { readonly id: string }

const serverNamed = (connection: Connection, name: string) =>
  recordNamed<Server>(connection, { path: SERVERS, what: 'real server', list: 'servers' }, name)

async function move(run: Run, name: string, verb: keyof typeof MOVES, options: Moving): Promise<void> {
  const connection = run.connect(options)
  const { id } = await serverNamed(connection, name)
  const [state, said] = MOVES[verb]
  const stage = () => connection.ask('PUT', `${SERVERS}/${id}/${verb}`)
  const alone = { of: [id], wanted: { state }, stage, said: `The real server ${name} ${said}` }
  await tellAlone(run, connection, alone, options)
}

async function weigh(run: Run, name: string, wanted: string, options: Moving): Promise<void> {
  if (!/^\d{1,3}$/.test(wanted) || Number(wanted) > 256) throw new Failure(`${wanted} is not a weight: use 0 to 256`)
  const connection = run.connect(options)
  const { id, port } = await serverNamed(connection, name)
  const weight = Number(wanted)
  const stage = () => connection.ask('PUT', `${SERVERS}/${id}`, { body: { port, weight } })
  const alone = { of: [id], wanted: { weight }, stage, said: `The real server ${name} has weight ${weight}` }
  await tellAlone(run, connection, alone, options)
}

async function drain(run: Run, name: string, options: Draining): Promise<void> {
  if (options.wait === undefined) {
    if (options.halt === true) throw new Failure('--halt needs --wait')
    return move(run, name, 'drain', options)
  }
  const connection = run.connect(options)
  const { id } = await serverNamed(connection, name)
  // oxlint-disable-next-line unicorn/no-thenable -- a parameter of the API
  const query = { wait: `${secondsIn(options.wait)}s`, ...(options.halt === true ? { then: 'halt' } : {}) }
  const stage = () => connection.ask('PUT', `${SERVERS}/${id}/drain`, { query })
  const alone = { of: [id], wanted: { state: 'drained' }, stage }
  const { isChanged, job } = await applyAlone(run, connection, alone, options)
  if (options.json !== true) run.told({}, `The real server ${name} is drained${unless(isChanged, options)}`, {})
  if (job !== undefined) {
    const told = `job ${job} continues without this command; cancel it with fulcrum api PUT /jobs/${job}/cancel`
    run.terminal.err(`${printable(told)}\n`)
    await followed(run, connection, job)
  }
  // Programs get their output once, at the end.
  if (options.json === true) run.json({ id, job, staged: options.stage === true, changed: isChanged })
}

interface Job {
  readonly state: string
  readonly step: string
  /** Percent. */
  readonly progress: number | null
  readonly problem: { readonly message: string } | null
}

/** A daemon that restarts resumes its jobs. */
const AWAY_MS_MAX = 120_000

/** Returns the present state of the job; waits for a daemon that is briefly away. */
async function jobOf(run: Run, connection: Connection, job: string): Promise<Job> {
  const since_ms = performance.now()
  for (let isTold = false; ; isTold = true) {
    try {
      return await connection.get<Job>(`/jobs/${encodeURIComponent(job)}`)
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error
      if (performance.now() - since_ms > AWAY_MS_MAX)
        throw new Failure(`${error.message}; the job continues: check it with fulcrum api /jobs/${job}`)
      if (!isTold) run.terminal.err(`${printable(error.message)}; waiting for it\n`)
      await sleep(500)
    }
  }
}

/** Shows the progress of a job until it ends; fails if the job has failed. */
export async function followed(run: Run, connection: Connection, job: string): Promise<void> {
  let told = ''
  for (;;) {
    const { state, step, progress, problem } = await jobOf(run, connection, job)
    const line = printable(`${state}${progress === null ? '' : ` ${progress} %`}${step === '' ? '' : `: ${step}`}`)
    if (line !== told) run.terminal.err(`${line}\n`)
    told = line
    if (problem !== null) throw new Failure(problem.message)
    if (state === 'succeeded') return
    if (state !== 'running') throw new Failure(`the job is ${printable(state)}`)
    await sleep(500)
  }
}
