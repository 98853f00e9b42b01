import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../../src/base/clock.ts'
import { createLog } from '../../src/base/log.ts'
import type { Host, UnitVerb } from '../../src/drivers/host.ts'
import { networkDriver } from '../../src/drivers/iproute2/driver.ts'
import { vrrpDriver } from '../../src/drivers/vrrp/driver.ts'
import type { ConfigView } from '../../src/model/sections.ts'
import { orderPlan } from '../../src/config/plan.ts'
import { HeldAddresses } from '../../src/watches/held-addresses.ts'
import { MasterSession } from '../../src/watches/master-session.ts'
import { Readiness } from '../../src/watches/readiness.ts'
import { executePlan } from '../../workers/executor.ts'
import { LinuxHost } from '../../workers/host/linux-host.ts'
import { type Records, viewOf } from '../fixtures/view.ts'

/**
 * The parts of a daemon that floating IPs need, in their own namespaces: real drivers, steps, files, addresses and
 * keepalived. Only systemd is missing, so this starts the programs of the unit, and restarts them. Receives commands
 * line by line.
 */

const MASTER = '/run/haproxy-master.sock'
const UNIT = readFileSync(new URL('../../systemd/fulcrum-vrrp.service', import.meta.url), 'utf8').replaceAll('\\\n', '')
const words = (name: string) => new RegExp(`^${name}=-?(.*)$`, 'm').exec(UNIT)?.[1]?.trim().split(/\s+/) ?? []
const [policy, priority] = [words('CPUSchedulingPolicy'), words('CPUSchedulingPriority')]

const { nodeId, nodeIds, folder } = JSON.parse(process.argv[2] ?? '')
const linux = new LinuxHost({ layer7proxy: { mode: 'systemd', masterSocket: MASTER } }, folder)

let main: ChildProcess | undefined
let isWanted = false

/** As systemd does: everything of the unit ends with its first process, then the commands after its stop run. */
async function run(): Promise<void> {
  while (isWanted) {
    main = spawn('chrt', [`--${policy[0]}`, priority[0] ?? '', ...words('ExecStart')], {
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    const { pid = 0 } = main
    await once(main, 'exit')
    main = undefined
    try {
      process.kill(-pid, 'SIGKILL')
    } catch {
      // Nothing of it is left.
    }
    await linux.run(words('ExecStopPost'), 10_000)
    if (isWanted) await sleep(1_000)
  }
}

async function unit(verb: UnitVerb) {
  if (verb === 'stop') {
    isWanted = false
    main?.kill('SIGTERM')
  } else if (main === undefined) {
    isWanted = true
    void run()
  } else main.kill('SIGHUP')
  return { exitCode: 0, output: '' }
}

const host: Host = new Proxy(linux, {
  get(target, name) {
    if (name === 'unit') return (_: string, verb: UnitVerb) => unit(verb)
    if (name === 'unitState') return async () => (main === undefined ? 'stopped' : 'running')
    if (name === 'readSetting')
      return async (setting: Parameters<Host['readSetting']>[0]) =>
        setting.kind === 'unitEnabled' ? 'enabled' : target.readSetting(setting)
    const value: unknown = Reflect.get(target, name)
    return typeof value === 'function' ? value.bind(target) : value
  },
})
const say = (about: object) => console.log(JSON.stringify(about))
const log = createLog((line) => process.stderr.write(`${line}\n`))

let view = viewOf({})
let revision = 0
let isLeaving = false
let isRemoved = false
/** A view of the configuration that runs at the time of a query. */
const running: ConfigView = { get: (section, id) => view.get(section, id), list: (section) => view.list(section) }
const clock = systemClock
const tell = (data: object) => say(data)
const held = new HeldAddresses({ nodeId, running, tell, clock, log })
const haproxy = new MasterSession(MASTER, () => void readiness.look())
const readiness = new Readiness({
  nodeId,
  nodeIds: () => nodeIds,
  running,
  revision: () => revision,
  executor: { execute: (steps) => executePlan(host, steps) },
  haproxy,
  keepalivedRuns: () => true,
  isLeaving: () => isLeaving,
  isRemoved: () => isRemoved,
  hasReadyOther: async () => true,
  clock,
  log,
})
const drivers = [networkDriver(nodeId, () => nodeIds), vrrpDriver(nodeId, () => nodeIds)]

async function apply(desired: Records, isFirst: boolean): Promise<void> {
  const [before, after] = [isFirst ? undefined : view, viewOf(desired)]
  const { steps } = orderPlan(
    drivers.flatMap((owner) => owner.plan(before, after, { atLeast: 'runtime' }).map((step) => ({ step, owner }))),
  )
  const result = await executePlan(host, steps)
  if (!result.ok) throw new Error(`${result.why}: ${result.output}`)
  view = after
  revision += 1
}

async function obey(line: string): Promise<void> {
  const { command, ...told } = JSON.parse(line)
  if (command === 'converge') await apply(told.records, true)
  if (command === 'apply') await apply(told.records, false)
  if (command === 'start') {
    await haproxy.start()
    held.start()
    await readiness.start()
  }
  if (command === 'yield') await readiness.yield(told.syncGroup)
  if (command === 'removed') {
    isRemoved = true
    await readiness.look()
  }
  if (command === 'maintain') {
    isLeaving = told.isLeaving
    await readiness.look()
  }
  if (command === 'end') {
    await unit('stop')
    if (main !== undefined) await once(main, 'exit')
    process.exit(0)
  }
  say({ done: command })
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    await obey(line)
  } catch (error) {
    say({ failed: String(error) })
  }
}
