import { IpvsReader } from '../../src/ipvs/reader.ts'
import type { NetlinkChannel } from '../../src/ipvs/exchange.ts'
import { PROTOCOL } from '../../src/ipvs/protocol.ts'
import type { ServiceEntry } from '../../src/ipvs/table.ts'
import { parseIpvsadm, Refused } from './ipvs-arguments.ts'
import { type ConnectionEntry, connectionsOf, type IpvsKernel, type Ran } from './ipvs-kernel.ts'
import { simulatedChannel } from './ipvs-simulator-netlink.ts'
import { KernelRefusal, type SimulatedDest, type SimulatedService, SimulatedTable } from './ipvs-simulator-table.ts'

/** Interval of the kernel's estimator, in seconds. */
const ESTIMATE_S = 2
const FAMILY = 31

/** A client that is bound to a server. */
interface Template {
  readonly service: SimulatedService
  readonly client: string
  dest: SimulatedDest
  expires_s: number
}

/** Bytes and packets of a connection, in each direction. */
export interface Traffic {
  readonly packetsIn: number
  readonly bytesIn: number
  readonly packetsOut: number
  readonly bytesOut: number
}
const SHORT: Traffic = { packetsIn: 6, bytesIn: 400, packetsOut: 4, bytesOut: 900 }

/** The balancing table of a kernel, for machines without one. Passes the same conformance test as the real one. */
export class IpvsSimulator implements IpvsKernel {
  readonly table = new SimulatedTable()
  /** Whether the module is loaded. */
  isLoaded = true
  /** Errno with which the kernel refuses to read out its table. */
  refuses: number | undefined
  /** Number of next dumps that are reported as interrupted. */
  interrupted = 0
  /** Number of the family: it changes when the module is unloaded and loaded. */
  family = FAMILY
  readonly #templates: Template[] = []
  readonly #reader: IpvsReader

  constructor() {
    this.#reader = new IpvsReader(this.channel())
  }

  /** A socket of its own. */
  channel(): NetlinkChannel & { readonly pending: Uint8Array[] } {
    return simulatedChannel({
      family: () => (this.isLoaded ? this.family : undefined),
      services: () => this.table.services,
      refusal: () => this.refuses,
      interrupts: () => this.interrupted-- > 0,
    })
  }

  /** Runs `ipvsadm` with these arguments. */
  ipvsadm(...argv: readonly string[]): Ran {
    try {
      const command = parseIpvsadm(argv)
      if (!this.isLoaded) return { code: 2, stderr: "Can't initialize ipvs: Protocol not available\n" }
      this.table.carryOut(command)
      return { code: 0, stderr: '' }
    } catch (error) {
      if (error instanceof Refused) return { code: 2, stderr: `${error.message}\n` }
      if (error instanceof KernelRefusal) return { code: 255, stderr: `${error.message}\n` }
      throw error
    }
  }

  run(argv: readonly string[]): Promise<Ran> {
    return Promise.resolve(this.ipvsadm(...argv))
  }

  dump(): Promise<readonly ServiceEntry[]> {
    const failure = this.#reader.read()
    return failure === undefined ? Promise.resolve(this.#reader.table.entries()) : Promise.reject(new Error(failure))
  }

  connections(): Promise<readonly ConnectionEntry[]> {
    return Promise.resolve(connectionsOf(this.connectionsText()))
  }

  /** The templates as listed in /proc/net/ip_vs_conn. */
  connectionsText(): string {
    const lines = this.#templates.map(({ service, client, dest, expires_s }) => {
      const isMark = service.mark !== undefined
      const name = isMark ? 'IP' : service.protocol === PROTOCOL.tcp ? 'TCP' : 'UDP'
      const address = isMark ? hex(service.mark ?? 0, 8) : hexAddress(service.address ?? '')
      const parts = [hexAddress(client), hex(0, 4), address, hex(isMark ? 0 : (service.port ?? 0), 4)]
      const to = [hexAddress(dest.address), hex(dest.port, 4)]
      return `${name.padEnd(3)} ${[...parts, ...to].join(' ')} NONE        ${String(expires_s).padStart(7)}`
    })
    return ['Pro FromIP   FPrt ToIP     TPrt DestIP   DPrt State       Expires PEName PEData', ...lines, ''].join('\n')
  }

  connect(client: string, address: string, port: number): Promise<string | undefined> {
    const service = this.table.find(address, port)
    return Promise.resolve(service && this.open(service, client)?.address)
  }

  settle(): Promise<void> {
    this.pass()
    return Promise.resolve()
  }

  /** Lets two seconds pass: the estimator counts, templates age. */
  pass(): void {
    this.table.estimate()
    for (const template of this.#templates) template.expires_s -= ESTIMATE_S
    const alive = this.#templates.filter(({ expires_s }) => expires_s > 0)
    this.#templates.splice(0, this.#templates.length, ...alive)
  }

  /** Opens a connection to a service, also by a firewall mark; undefined when no server accepts it. */
  open(service: SimulatedService, client: string, traffic: Traffic = SHORT): SimulatedDest | undefined {
    const dest = this.#chosen(service, client)
    if (dest === undefined) return undefined
    dest.active++
    for (const { stats } of [service, dest]) {
      // Where answers bypass the balancer, they are not counted.
      const isSeen = dest.forwarding === 'masq'
      const { packetsIn, packetsOut, bytesIn, bytesOut } = traffic
      const counts = [1, packetsIn, isSeen ? packetsOut : 0, bytesIn, isSeen ? bytesOut : 0]
      for (const [index, count] of counts.entries()) stats.raw[index] = (stats.raw[index] ?? 0) + count
    }
    return dest
  }

  /** The connection has ended, and lingers as an inactive one. */
  close(dest: SimulatedDest): void {
    dest.active--
    dest.inactive++
  }

  #chosen(service: SimulatedService, client: string): SimulatedDest | undefined {
    const { timeout, dests } = service
    if (timeout === undefined) return scheduled(service)
    const name = masked(client, service.netmask)
    const bound = this.#templates.find((one) => one.service === service && one.client === name)
    // A removed server loses its clients; a drained one keeps them.
    if (bound !== undefined && dests.includes(bound.dest)) {
      bound.expires_s = timeout
      return bound.dest
    }
    const dest = scheduled(service)
    if (dest === undefined) return undefined
    if (bound === undefined) this.#templates.push({ service, client: name, dest, expires_s: timeout })
    else Object.assign(bound, { dest, expires_s: timeout })
    dest.persistent++
    return dest
  }
}

/** Weighted round robin, or the server with the fewest connections for its weight. */
function scheduled({ scheduler, dests }: SimulatedService): SimulatedDest | undefined {
  const usable = dests.filter(({ weight }) => weight > 0)
  if (scheduler === 'wlc' || scheduler === 'lc' || scheduler === 'sed' || scheduler === 'nq') {
    const load = ({ active, inactive, weight }: SimulatedDest) => (active * 256 + inactive) / weight
    return usable.reduce<SimulatedDest | undefined>(
      (best, dest) => (best === undefined || load(dest) < load(best) ? dest : best),
      undefined,
    )
  }
  const weightOf = ({ weight }: SimulatedDest) => (scheduler === 'rr' ? 1 : weight)
  for (const dest of usable) dest.current += weightOf(dest)
  const next = usable.toSorted((a, b) => b.current - a.current)[0]
  if (next !== undefined) next.current -= usable.reduce((sum, dest) => sum + weightOf(dest), 0)
  return next
}

function masked(client: string, netmask: string | undefined): string {
  if (netmask === undefined) return client
  const mask = netmask.split('.').map(Number)
  return client
    .split('.')
    .map((part, index) => Number(part) & (mask[index] ?? 255))
    .join('.')
}

const hex = (value: number, digits: number) => value.toString(16).toUpperCase().padStart(digits, '0')
const hexAddress = (address: string) =>
  address
    .split('.')
    .map((part) => hex(Number(part), 2))
    .join('')
