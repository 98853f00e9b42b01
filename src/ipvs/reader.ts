import { destsRequest, familyId, familyRequest, servicesRequest, TableDecoder } from './codec.ts'
import { ERRNO, type NetlinkChannel, NetlinkExchange } from './exchange.ts'
import { MessageWriter, NetlinkError } from './netlink.ts'
import { IDENTITY_WORDS, IpvsTable } from './table.ts'

/** `undefined` if the table was read; else why not, as a sentence about the kernel's table ("it …", "its …"). */
type ReadFailure = string | undefined

/** How often to read again if the table changes during the reading. */
const TRIES = 3
/**
 * Maximum number of skipped readings while there is no IPVS: each request makes the kernel start modprobe, and wait for
 * it.
 */
const LEFT_OUT_MAX = 15
const NOT_THERE = 'this kernel has no IPVS (its module ip_vs is not loaded)'

/** Reads the kernel's table of services and destinations. Never waits: the kernel answers a request at once. */
export class IpvsReader {
  readonly table = new IpvsTable()
  readonly #exchange: NetlinkExchange
  readonly #out = new MessageWriter()
  readonly #decoder = new TableDecoder()
  /** Number of the family; changes when the module is unloaded and loaded again. */
  #family: number | undefined
  /** Consecutive readings without IPVS, and readings still to be skipped for that. */
  #absences = 0
  #leftOut = 0

  constructor(channel: NetlinkChannel) {
    this.#exchange = new NetlinkExchange(channel)
  }

  /** Makes the next reading query the kernel, however often there was no IPVS. */
  lookAgain(): void {
    this.#absences = 0
    this.#leftOut = 0
  }

  read(): ReadFailure {
    if (this.#leftOut > 0) {
      this.#leftOut--
      return NOT_THERE
    }
    const failure = this.#read()
    this.#absences = failure === NOT_THERE ? this.#absences + 1 : 0
    if (failure === NOT_THERE) this.#leftOut = Math.min(2 ** (this.#absences - 1) - 1, LEFT_OUT_MAX)
    return failure
  }

  #read(): ReadFailure {
    for (let tries = 1; ; tries++) {
      try {
        const isFresh = this.#family === undefined
        const family = (this.#family ??= this.#findFamily())
        if (family === undefined) return NOT_THERE
        const failure = this.#attempt(family)
        if (failure === undefined) return undefined
        if (failure === 'gone' && (isFresh || tries === TRIES)) return NOT_THERE
      } catch (error) {
        if (!(error instanceof NetlinkError)) throw error
        if (error.code !== ERRNO.EINTR || tries === TRIES) return error.message
      }
    }
  }

  #findFamily(): number | undefined {
    let found: number | undefined
    try {
      this.#exchange.ask(familyRequest(this.#out, this.#exchange.nextSequence()), false, (view, at, end) => {
        found = familyId(view, at, end)
      })
    } catch (error) {
      if (error instanceof NetlinkError && error.code === ERRNO.ENOENT) return undefined
      throw error
    }
    return found
  }

  /** Reads the table; 'gone' if the family's number is no longer valid, so that it must be looked up again. */
  #attempt(family: number): 'gone' | undefined {
    try {
      this.#dump(family)
      return undefined
    } catch (error) {
      if (!(error instanceof NetlinkError)) throw error
      if (error.code !== ERRNO.ENOENT && error.code !== ERRNO.EOPNOTSUPP) throw error
      this.#family = undefined
      return 'gone'
    }
  }

  #dump(family: number): void {
    const { table } = this
    const exchange = this.#exchange
    table.begin()
    exchange.ask(servicesRequest(this.#out, family, exchange.nextSequence()), true, (view, at, end) =>
      this.#decoder.service(table, view, at, end),
    )
    for (let service = 0; service < table.services.count; service++) {
      table.beginDests(service)
      const serviceFamily = (table.services.ids[service * IDENTITY_WORDS] ?? 0) & 0xff
      this.#dumpDests(family, service, serviceFamily)
    }
    table.end()
  }

  #dumpDests(family: number, service: number, serviceFamily: number): void {
    const exchange = this.#exchange
    const request = destsRequest(this.#out, family, exchange.nextSequence(), this.table, service)
    try {
      exchange.ask(request, true, (view, at, end) => this.#decoder.dest(this.table, serviceFamily, view, at, end))
    } catch (error) {
      // The service was deleted since the services were listed.
      if (error instanceof NetlinkError && error.code === ERRNO.ESRCH)
        throw new NetlinkError('it was changed while it was read', ERRNO.EINTR)
      throw error
    }
  }
}
