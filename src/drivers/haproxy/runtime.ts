import type { ReadBack, RowExpectation, SocketCommand, SocketStep } from '../driver.ts'
import { grouped } from '../../base/grouped.ts'
import { isIpv6, printedIps } from './address.ts'
import type { ServerChange } from './changes.ts'
import { command, toWorker } from './cli.ts'
import type { Server } from './server.ts'
import { endpointText } from './statement.ts'

/** Beyond this many commands (about 0.3 ms each) a reload is quicker. */
export const RUNTIME_COMMANDS_MAX = 1000

/** A hanging worker must not delay an apply: the reload that follows replaces it. */
const ANSWER_TIMEOUT_MS = 3_000
const PER_COMMAND_TIMEOUT_MS = 5

/**
 * Returns the commands that bring a running HAProxy's servers to their wanted state. They go through the master socket:
 * a session on the workers' own socket would stay with the old worker after a reload.
 */
export function runtimeStep(changes: readonly ServerChange[], masterSocket: string): SocketStep {
  const reversed = changes
    .map(({ backendId, before, after }) => ({ backendId, before: after, after: before }))
    .reverse()
  const all = changes.flatMap(commandsFor)
  // Removals come last, together: the counters of these servers are read once, when they no longer change.
  const commands = [
    ...all.filter((one) => one.endsCounting !== true),
    ...all.filter((one) => one.endsCounting === true),
  ]
  return {
    kind: 'socket',
    why: `change ${changes.length === 1 ? 'one server' : `${changes.length} servers`} of the running HAProxy`,
    timeout_ms: ANSWER_TIMEOUT_MS + commands.length * PER_COMMAND_TIMEOUT_MS,
    path: masterSocket,
    commands,
    readBack: readBacks(changes),
    quiet: unused(changes),
    undo: reversed.flatMap(commandsFor).map(evenIfDone),
  }
}

/** Answers to the undo of a command that was never carried out: an undo does not know how far the commands came. */
const NEVER_DONE = ['No such server.', "'id' : custom id *", 'Already exists a server with the same name in backend.']
const evenIfDone = ({ request, expect }: SocketCommand): SocketCommand => ({
  request,
  expect: [...expect, ...NEVER_DONE],
})

const toServer = (expect: readonly string[], ...words: readonly string[]): SocketCommand => ({
  request: toWorker('current', command(...words)),
  expect,
})
const SILENT = ['']

function commandsFor({ backendId, before, after }: ServerChange): readonly SocketCommand[] {
  const target = `${backendId}/${(after ?? before)?.id ?? ''}`
  if (after === undefined) {
    // Deleting needs maintenance first; HAProxy refuses it while connections exist, which leads to a reload.
    return [
      toServer(SILENT, 'set', 'server', target, 'state', 'maint'),
      { ...toServer(['Server deleted.'], 'del', 'server', target), endsCounting: true },
    ]
  }
  return before === undefined ? additionOf(target, after) : alterationOf(target, before, after)
}

/** A word of the options of a checked server. */
const CHECKED = ' check '

/** Options of traffic, and those with which the check does the same: a check in the file does so without being told. */
const ALSO_FOR_CHECKS = { ssl: 'check-ssl', 'send-proxy-v2': 'check-send-proxy' } as const

/** Unlike one in the file, a server added at runtime would keep no connection for the next request. */
const KEEPING = ['pool-max-conn', '-1', 'pool-purge-delay', '5s'] as const

function additionOf(target: string, entry: Server): readonly SocketCommand[] {
  const options = `${entry.options.trim()} weight ${entry.weight}`.trim().split(' ')
  const isChecked = entry.options.includes(CHECKED)
  const ofCheck = Object.entries(ALSO_FOR_CHECKS).flatMap(([name, same]) =>
    isChecked && options.includes(name) ? [same] : [],
  )
  const words = [endpointText(entry.ip, entry.port), ...options, ...ofCheck, ...KEEPING]
  const commands = [toServer(['New server registered.'], 'add', 'server', target, ...words)]
  // A server added at runtime starts in maintenance with its checks off, unlike one in the file.
  if (isChecked && !entry.halted) commands.push(checking(target))
  if (!entry.halted) commands.push(toServer(SILENT, 'enable', 'server', target))
  return commands
}

const checking = (target: string): SocketCommand => toServer(SILENT, 'enable', 'health', target)

function alterationOf(target: string, before: Server, after: Server): readonly SocketCommand[] {
  const commands: SocketCommand[] = []
  const moved = before.ip !== after.ip || before.port !== after.port
  // Stop first and start last: a server must not take traffic with half of its new settings.
  if (after.halted && !before.halted) commands.push(toServer(SILENT, 'set', 'server', target, 'state', 'maint'))
  if (moved) {
    const port = after.port === null ? [] : ['port', String(after.port)]
    const expect = ['IP changed from *', 'no need to change the addr*', 'port changed from *']
    commands.push(toServer(expect, 'set', 'server', target, 'addr', after.ip, ...port))
  }
  if (before.weight !== after.weight) {
    commands.push(toServer(SILENT, 'set', 'server', target, 'weight', String(after.weight)))
  }
  if (before.halted && !after.halted) {
    // HAProxy pauses the checks of a server when it is halted, but not those of one that was added halted: these are
    // off until now. For all others the command changes nothing.
    if (after.options.includes(CHECKED)) commands.push(checking(target))
    commands.push(toServer(SILENT, 'set', 'server', target, 'state', 'ready'))
  }
  return commands
}

/** Type of the server rows in `show stat`. */
const SERVERS = '4'
const ALL = '-1'
/** Up to this many servers of a backend are queried individually: HAProxy takes 20 ms to print the states of 10,000. */
const SINGLY_MAX = 4

const statOf = (backendId: string, which: string): string =>
  toWorker('current', command('show', 'stat', backendId, SERVERS, which))

function readBacks(changes: readonly ServerChange[]): readonly ReadBack[] {
  return [...grouped(changes, ({ backendId }) => backendId)].flatMap(([backendId, all]) => {
    const hasNames = all.some(({ before, after }) => (after ?? before)?.isName === true)
    if (!hasNames && all.length <= SINGLY_MAX) return all.map(statReadBack)
    return [
      { request: toWorker('current', command('show', 'servers', 'state', backendId)), rows: all.map(rowExpectation) },
    ]
  })
}

function statReadBack({ backendId, before, after }: ServerChange): ReadBack {
  const { id: svname = '', number = 0 } = after ?? before ?? {}
  const columns = after && statColumns(after)
  return { request: statOf(backendId, String(number)), rows: [{ where: { svname }, columns }] }
}

/** A connection that ends after the figures were read would take its bytes with it. */
function unused(changes: readonly ServerChange[]): readonly ReadBack[] {
  const going = changes.flatMap(({ backendId, before, after }) =>
    before === undefined || after !== undefined ? [] : [{ backendId, ...before }],
  )
  return [...grouped(going, ({ backendId }) => backendId)].flatMap(([backendId, all]) => {
    const row = ({ id }: Server): RowExpectation => ({ where: { svname: id }, columns: { scur: ['0'] } })
    if (all.length > SINGLY_MAX) return [{ request: statOf(backendId, ALL), rows: all.map(row) }]
    return all.map((one) => ({ request: statOf(backendId, String(one.number)), rows: [row(one)] }))
  })
}

function rowExpectation({ before, after }: ServerChange): RowExpectation {
  const where = { srv_name: (after ?? before)?.id ?? '' }
  return { where, columns: after === undefined ? undefined : stateColumns(after) }
}

/**
 * Returns the row of this server in `show stat`, for a server without a name to resolve. Other states mean that an
 * operator drains it by hand.
 */
function statColumns({ ip, port, weight, halted }: Server): Readonly<Record<string, readonly string[]>> {
  const hosts = isIpv6(ip) ? printedIps(ip).map((host) => `[${host}]`) : [ip]
  return {
    addr: hosts.map((host) => `${host}:${port ?? 0}`),
    uweight: [String(weight)],
    status: halted ? ['MAINT'] : ['UP*', 'DOWN*', 'NOLB*', 'no check'],
  }
}

/**
 * Returns the row of this server in `show servers state`. In the admin state, bit 4 means that the file disabled it,
 * bit 32 that its name is not resolved, and bit 64 that an SRV record named it. Any address of a name is accepted.
 */
export function stateColumns(entry: Server): Readonly<Record<string, readonly string[]>> {
  const admin = entry.halted ? [1, 5] : [0, 4]
  const unresolved = entry.isName ? admin.map((state) => state + 32) : []
  const known = [...admin, ...unresolved]
  const ofService = entry.isService ? known.map((state) => state + 64) : []
  return {
    ...(entry.isName ? {} : { srv_addr: printedIps(entry.ip) }),
    ...(entry.isService ? {} : { srv_port: [String(entry.port ?? 0)] }),
    srv_uweight: [String(entry.weight)],
    srv_admin_state: [...known, ...ofService].map(String),
  }
}
