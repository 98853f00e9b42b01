import { type FORWARDING, PROTOCOL, STATS } from '../../src/ipvs/protocol.ts'
import { SCHEDULERS } from '../../src/model/layer4.ts'
import type { IpvsCommand } from './ipvs-arguments.ts'

/** Totals that change at once, and their visible values, which the estimator updates every two seconds. */
export class SimulatedStats {
  readonly raw = STATS.map(() => 0)
  #counted = STATS.map(() => 0)
  #zero = STATS.map(() => 0)
  /** Weighted averages as in the kernel: rates with fractional bits. */
  #rates = STATS.map(() => 0)

  /** Runs every two seconds: a quarter of the difference is added to the average. */
  estimate(): void {
    for (const [index, raw] of this.raw.entries()) {
      const shift = index < 3 ? 512 : 16
      const rate = (raw - (this.#counted[index] ?? 0)) * shift
      const before = this.#rates[index] ?? 0
      this.#rates[index] = before + ((rate - before) >> 2)
      this.#counted[index] = raw
    }
  }

  /** Shown from zero on; the counts are kept. */
  zero(): void {
    this.#zero = [...this.#counted]
    this.#rates = STATS.map(() => 0)
  }

  /** In the order of netlink: five totals and their rates. */
  shown(): readonly number[] {
    const totals = this.#counted.map((value, index) => value - (this.#zero[index] ?? 0))
    const rates = this.#rates.map((rate, index) => (index < 3 ? (rate + 0x1_ff) >> 10 : (rate + 0xf) >> 5))
    return [...totals, ...rates]
  }
}

export interface SimulatedDest {
  readonly family: number
  readonly address: string
  readonly port: number
  weight: number
  forwarding: keyof typeof FORWARDING
  active: number
  inactive: number
  persistent: number
  readonly stats: SimulatedStats
  /** State of smooth weighted round robin. */
  current: number
}

export interface SimulatedService {
  readonly family: number
  readonly protocol: number | undefined
  readonly address: string | undefined
  readonly port: number | undefined
  readonly mark: number | undefined
  scheduler: string
  timeout: number | undefined
  netmask: string | undefined
  dests: SimulatedDest[]
  /** Removed ones, which return with their counts. */
  readonly trash: SimulatedDest[]
  readonly stats: SimulatedStats
}

/** A refusal of the kernel, with the message of `ipvsadm`; exit code 255. */
export class KernelRefusal extends Error {}

const SERVICE_EXISTS = 'Service already exists'
const NO_SCHEDULER = 'Scheduler or persistence engine not found'
const NO_SERVICE = 'No such service'
const NOT_DEFINED = 'Service not defined'
const DEST_EXISTS = 'Destination already exists'
const NO_DEST = 'No such destination'

const serviceName = ({ family, protocol, address, port, mark }: SimulatedService | IpvsCommand): string =>
  mark === undefined ? `${protocol} [${address}]:${port}` : `mark ${mark} of ${family}`

/** The kernel's table and its rules, without packets. */
export class SimulatedTable {
  readonly #services = new Map<string, SimulatedService>()

  get services(): readonly SimulatedService[] {
    return [...this.#services.values()]
  }

  find(address: string, port: number, protocol: number = PROTOCOL.tcp): SimulatedService | undefined {
    return this.services.find((one) => one.address === address && one.port === port && one.protocol === protocol)
  }

  estimate(): void {
    for (const { stats, dests } of this.services) {
      stats.estimate()
      for (const dest of dests) dest.stats.estimate()
    }
  }

  carryOut(command: IpvsCommand): void {
    const name = serviceName(command)
    const service = this.#services.get(name)
    switch (command.verb) {
      case 'A':
        if (service !== undefined) throw new KernelRefusal(SERVICE_EXISTS)
        return void this.#services.set(name, newService(command))
      case 'E':
        return edit(service, command)
      case 'D':
        if (!this.#services.delete(name)) throw new KernelRefusal(NO_SERVICE)
        return
      case 'C':
        return this.#services.clear()
      case 'Z':
        return this.#zero(command.family === 0 ? this.services : [service])
      default:
        if (service === undefined) throw new KernelRefusal(NOT_DEFINED)
        return changeDest(service, command)
    }
  }

  #zero(services: readonly (SimulatedService | undefined)[]): void {
    for (const service of services) {
      if (service === undefined) throw new KernelRefusal(NO_SERVICE)
      for (const { stats } of [service, ...service.dests]) stats.zero()
    }
  }
}

function refuseScheduler({ scheduler }: IpvsCommand): void {
  if (!SCHEDULERS.some((name) => name === scheduler)) throw new KernelRefusal(NO_SCHEDULER)
}

function newService(command: IpvsCommand): SimulatedService {
  refuseScheduler(command)
  const { family, protocol, address, port, mark, scheduler, timeout, netmask } = command
  const stats = new SimulatedStats()
  return { family, protocol, address, port, mark, scheduler, timeout, netmask, dests: [], trash: [], stats }
}

function edit(service: SimulatedService | undefined, command: IpvsCommand): void {
  if (service === undefined) throw new KernelRefusal(NO_SERVICE)
  refuseScheduler(command)
  service.scheduler = command.scheduler
  service.timeout = command.timeout
  service.netmask = command.netmask
}

function changeDest(service: SimulatedService, command: IpvsCommand): void {
  const { verb, server, weight, forwarding } = command
  if (server === undefined) throw new KernelRefusal(NO_DEST)
  const isIt = (dest: SimulatedDest) => dest.address === server.address && dest.port === server.port
  const dest = service.dests.find(isIt)
  if (verb === 'a') {
    if (dest !== undefined) throw new KernelRefusal(DEST_EXISTS)
    const former = service.trash.find(isIt)
    if (former !== undefined) service.trash.splice(service.trash.indexOf(former), 1)
    const added = former ?? { ...server, ...EMPTY, stats: new SimulatedStats(), weight, forwarding }
    service.dests.push(Object.assign(added, { weight, forwarding }))
    return
  }
  if (dest === undefined) throw new KernelRefusal(NO_DEST)
  if (verb === 'e') Object.assign(dest, { weight, forwarding })
  else {
    service.dests.splice(service.dests.indexOf(dest), 1)
    service.trash.push(dest)
  }
}

const EMPTY = { active: 0, inactive: 0, persistent: 0, current: 0 }
