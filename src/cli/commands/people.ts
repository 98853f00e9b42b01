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

/** Adds the commands for users and roles. */
export function addPeople(program: Command, run: Run): void {
  const user = program.command('user').alias('users').description('add, disable, enable and delete users')
  addUsers(user, run)
  const role = program.command('role').alias('roles').description('add, assign and delete roles')
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
  verb('add', 'add a user; asks for the first password')
    .requiredOption('--first-name <name>', 'of the person')
    .requiredOption('--last-name <name>', 'of the person')
    .option('--role <role>', 'role to assign (repeatable)', collect)
    .option('--group <group>', 'group to join, by name or id (repeatable)', collect)
    .action((email: string, _options: unknown, command: Command) => addUser(run, email, optionsOf<Adding>(command)))
  verb('password', 'change the password; asks for the new one').action(
    async (email: string, _options: unknown, command: Command) => {
      const password = await newPassword(run)
      await change(run, email, { password }, 'has a new password', optionsOf<Moving>(command))
    },
  )
  verb('disable', 'disable a user and end the sessions').action((email: string, _options: unknown, command: Command) =>
    change(run, email, { disabled: true }, 'cannot log in', optionsOf<Moving>(command)),
  )
  verb('enable', 'enable a user again').action((email: string, _options: unknown, command: Command) =>
    change(run, email, { disabled: false }, 'may log in', optionsOf<Moving>(command)),
  )
  verb('delete', 'delete a user and end the sessions').action(
    async (email: string, _options: unknown, command: Command) => {
      const options = optionsOf<Moving>(command)
      const connection = run.connect(options)
      const { id } = await userNamed(connection, email)
      const stage = () => connection.ask('DELETE', `${USERS}/${id}`)
      await tellAlone(
        run,
        connection,
        { of: [id], isOfAccess: true, stage, said: `The user ${email} is deleted` },
        options,
      )
    },
  )
  user
    .command('reset-code')
    .description('remove a lost second factor from a user, immediately')
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

/** Groups may have readable ids, so ids and names are both accepted. */
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
  verb('add', 'add a role that grants only the given operations')
    .requiredOption('--allow <method path>', 'for example "GET /services" (repeatable)', collect)
    .action(async (name: string, _options: unknown, command: Command) => {
      const options = optionsOf<Allowing>(command)
      const connection = run.connect(options)
      const body = { name, users: [], groups: [], endpoints: options.allow.map(endpointIn) }
      const stage = () => connection.ask('POST', ROLES, { body })
      await tellAlone(run, connection, { of: [], isOfAccess: true, stage, said: `The role ${name} is added` }, options)
    })
  for (const [name, description] of [
    ['give', 'assign the role to users or groups'],
    ['take', 'withdraw the role from users or groups'],
  ] as const) {
    verb(name, description)
      .option('--user <email>', 'a user (repeatable)', collect)
      .option('--group <group>', 'a group, by name or id (repeatable)', collect)
      .action((of: string, _options: unknown, command: Command) => hold(run, of, name, optionsOf<Holding>(command)))
  }
  verb('delete', 'delete a role; its holders lose what it grants').action(
    async (name: string, _options: unknown, command: Command) => {
      const options = optionsOf<Moving>(command)
      const connection = run.connect(options)
      const { id, users, groups } = await roleNamed(connection, name)
      const of = [id, ...users, ...groups]
      const stage = () => connection.ask('DELETE', `${ROLES}/${id}`)
      await tellAlone(run, connection, { of, isOfAccess: true, stage, said: `The role ${name} is deleted` }, options)
    },
  )
}

/** Parses an endpoint as roles name it, such as `GET /services`. */
function endpointIn(text: string) {
  const [, method, path] = /^(GET|POST|PUT|DELETE) +(\/\S+)$/i.exec(text.trim()) ?? []
  if (method === undefined) throw new Failure(`--allow ${text}: give a method and a path, for example "GET /services"`)
  return { path, methods: [method.toUpperCase()] }
}

async function hold(run: Run, name: string, verb: 'give' | 'take', options: Holding): Promise<void> {
  const { user = [], group = [] } = options
  if (user.length + group.length === 0) throw new Failure('use --user or --group')
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
    // Lists are sent as a whole, so without If-Match this could undo a simultaneous change of the list.
    const headers = etag === undefined ? {} : { 'if-match': etag }
    return connection.ask('PUT', `${ROLES}/${id}`, { body, headers })
  }
  const said = `The role ${name} ${verb === 'give' ? 'is assigned' : 'is withdrawn'}`
  await tellAlone(run, connection, { id, of, isOfAccess: true, stage, said }, options)
}
