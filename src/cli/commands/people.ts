import type { Command } from 'commander'
import { collect, optionsOf, type Run } from '../command.ts'
import type { Connection } from '../connection.ts'
import { Failure } from '../failure.ts'
import { printable } from '../output.ts'
import { type Moving, moving, tellAlone } from './alone.ts'
import { recordNamed } from './records.ts'

interface User {
  readonly id: string
  readonly email: string
}

interface Role {
  readonly id: string
  readonly name: string
  readonly users: readonly string[]
  readonly groups: readonly string[]
}

const USERS = '/localUsers/users'
const ROLES = '/rbac/roles'
const GROUPS = '/rbac/groups'

/** Users and roles: who may log in, and who may do what. */
export function addPeople(program: Command, run: Run): void {
  const user = program.command('user').alias('users').description('add users, switch them off, and let them in again')
  addUsers(user, run)
  const role = program.command('role').alias('roles').description('say who may do what')
  addRoles(role, run)
}

interface Adding extends Moving {
  readonly firstName: string
  readonly lastName: string
  readonly role?: readonly string[]
  readonly group?: readonly string[]
}

function addUsers(user: Command, run: Run): void {
  const verb = (name: string, description: string) =>
    moving(user.command(name).description(description).argument('<user>', 'e-mail'))
  verb('add', 'may log in from then on; asks for the first password')
    .requiredOption('--first-name <name>', 'of the person')
    .requiredOption('--last-name <name>', 'of the person')
    .option('--role <role>', 'name of a role to hold (repeatable)', collect)
    .option('--group <group>', 'name or id of a group to join (repeatable)', collect)
    .action((email: string, _options: unknown, command: Command) => addUser(run, email, optionsOf<Adding>(command)))
  verb('password', 'gives another password, which is asked for').action(
    async (email: string, _options: unknown, command: Command) => {
      const password = await newPassword(run)
      await change(run, email, { password }, 'has another password', optionsOf<Moving>(command))
    },
  )
  verb('disable', 'cannot log in any more; the sessions end').action(
    (email: string, _options: unknown, command: Command) =>
      change(run, email, { disabled: true }, 'cannot log in', optionsOf<Moving>(command)),
  )
  verb('enable', 'may log in again').action((email: string, _options: unknown, command: Command) =>
    change(run, email, { disabled: false }, 'may log in', optionsOf<Moving>(command)),
  )
  verb('delete', 'is gone, with the sessions').action(async (email: string, _options: unknown, command: Command) => {
    const options = optionsOf<Moving>(command)
    const connection = run.connect(options)
    const { id } = await userNamed(connection, email)
    const stage = () => connection.ask('DELETE', `${USERS}/${id}`)
    await tellAlone(run, connection, { of: [id], isOfAccess: true, stage, said: `The user ${email} is gone` }, options)
  })
  user
    .command('reset-code')
    .description('takes the second factor off a user who has lost it, at once')
    .argument('<user>', 'e-mail')
    .action(async (email: string, _options: unknown, command: Command) => {
      const options = optionsOf<Moving>(command)
      const connection = run.connect(options)
      const { id } = await userNamed(connection, email)
      const { message } = await connection.ask('DELETE', `${USERS}/${id}/2fa`)
      if (options.json === true) return run.json({ id })
      run.terminal.out(`${printable(message)}.\n`)
    })
}

const newPassword = (run: Run): Promise<string> => run.secret('New password: ', 'FULCRUM_NEW_PASSWORD', { isNew: true })

const userNamed = (connection: Connection, email: string) =>
  recordNamed<User>(connection, { path: USERS, what: 'user', list: 'users' }, email)

const roleNamed = (connection: Connection, name: string) =>
  recordNamed<Role>(connection, { path: ROLES, what: 'role', list: 'roles' }, name)

/** People give groups ids as readable as names, so either is taken. */
async function groupNamed(connection: Connection, group: string): Promise<string> {
  const all = await connection.list<{ readonly id: string }>(GROUPS)
  if (all.some(({ id }) => id === group)) return group
  return (await recordNamed(connection, { path: GROUPS, what: 'group', list: 'groups' }, group)).id
}

async function addUser(run: Run, email: string, options: Adding): Promise<void> {
  const { firstName, lastName, role = [], group = [] } = options
  const connection = run.connect(options)
  const roles: string[] = []
  for (const name of role) roles.push((await roleNamed(connection, name)).id)
  const groups: string[] = []
  for (const name of group) groups.push(await groupNamed(connection, name))
  const password = await newPassword(run)
  const body = { email, firstName, lastName, password, disabled: false, roles, groups }
  const stage = () => connection.ask('POST', USERS, { body })
  await tellAlone(run, connection, { of: [], isOfAccess: true, stage, said: `The user ${email} may log in` }, options)
}

async function change(
  run: Run,
  email: string,
  wanted: Readonly<Record<string, unknown>>,
  said: string,
  options: Moving,
): Promise<void> {
  const connection = run.connect(options)
  const { id } = await userNamed(connection, email)
  const stage = () => connection.ask('PUT', `${USERS}/${id}`, { body: wanted })
  await tellAlone(
    run,
    connection,
    { of: [id], wanted, isOfAccess: true, stage, said: `The user ${email} ${said}` },
    options,
  )
}

interface Allowing extends Moving {
  readonly allow: readonly string[]
}

interface Holding extends Moving {
  readonly user?: readonly string[]
  readonly group?: readonly string[]
}

function addRoles(role: Command, run: Run): void {
  const verb = (name: string, description: string) =>
    moving(role.command(name).description(description).argument('<role>', 'its name'))
  verb('add', 'a role that grants what is said of it, and nothing else')
    .requiredOption('--allow <method path>', 'such as "GET /services" (repeatable)', collect)
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = optionsOf<Allowing>(command)
      const connection = run.connect(options)
      const body = { name, users: [], groups: [], endpoints: options.allow.map(endpointIn) }
      const stage = () => connection.ask('POST', ROLES, { body })
      await tellAlone(run, connection, { of: [], isOfAccess: true, stage, said: `The role ${name} is made` }, options)
    })
  for (const [name, description] of [
    ['give', 'users or groups hold it from then on'],
    ['take', 'users or groups hold it no longer'],
  ] as const) {
    verb(name, description)
      .option('--user <email>', 'a user (repeatable)', collect)
      .option('--group <group>', 'a group, by name or id (repeatable)', collect)
      .action((of: string, _options: unknown, command: Command) => hold(run, of, name, optionsOf<Holding>(command)))
  }
  verb('delete', 'who holds it loses what it grants').action(
    async (name: string, _options: unknown, command: Command) => {
      const options = optionsOf<Moving>(command)
      const connection = run.connect(options)
      const { id, users, groups } = await roleNamed(connection, name)
      const of = [id, ...users, ...groups]
      const stage = () => connection.ask('DELETE', `${ROLES}/${id}`)
      await tellAlone(run, connection, { of, isOfAccess: true, stage, said: `The role ${name} is gone` }, options)
    },
  )
}

/** `GET /services`, as roles name what they grant. */
function endpointIn(text: string) {
  const [, method, path] = /^(GET|POST|PUT|DELETE) +(\/\S+)$/i.exec(text.trim()) ?? []
  if (method === undefined) throw new Failure(`--allow ${text}: say a method and a path, such as "GET /services"`)
  return { path, methods: [method.toUpperCase()] }
}

async function hold(run: Run, name: string, verb: 'give' | 'take', options: Holding): Promise<void> {
  const { user = [], group = [] } = options
  if (user.length + group.length === 0) throw new Failure('say --user or --group')
  const connection = run.connect(options)
  const { id } = await roleNamed(connection, name)
  const ids: string[] = []
  for (const email of user) ids.push((await userNamed(connection, email)).id)
  const groupIds: string[] = []
  for (const one of group) groupIds.push(await groupNamed(connection, one))
  const changed = (holders: readonly string[], named: readonly string[]): readonly string[] => {
    const others = holders.filter((one) => !named.includes(one))
    return verb === 'take' ? others : [...others, ...named]
  }
  // The holder's record lists its roles.
  const of = [...ids, ...groupIds]
  const stage = async () => {
    const { data: role, etag } = await connection.ask<Role>('GET', `${ROLES}/${id}`)
    const body = { users: changed(role.users, ids), groups: changed(role.groups, groupIds) }
    // Lists are sent whole, which would take the role away from anybody who was given it meanwhile.
    const headers = etag === undefined ? {} : { 'if-match': etag }
    return connection.ask('PUT', `${ROLES}/${id}`, { body, headers })
  }
  const said = `The role ${name} ${verb === 'give' ? 'is given' : 'is taken back'}`
  await tellAlone(run, connection, { id, of, isOfAccess: true, stage, said }, options)
}
