import { addressWords } from '../../src/ipvs/addresses.ts'
import { addressBytes } from '../../src/ipvs/codec.ts'
import { ERRNO, type NetlinkChannel } from '../../src/ipvs/exchange.ts'
import {
  ATTRIBUTE_HEADER,
  FLAG,
  GENERIC_HEADER,
  MESSAGE,
  MESSAGE_HEADER,
  MessageWriter,
} from '../../src/ipvs/netlink.ts'
import {
  AF_INET,
  COMMAND,
  COMMAND_ATTRIBUTE,
  CONTROLLER,
  DEST,
  FORWARDING,
  IPVS_FAMILY,
  IPVS_VERSION,
  PERSISTENT,
  SERVICE,
} from '../../src/ipvs/protocol.ts'
import type { SimulatedDest, SimulatedService } from './ipvs-simulator-table.ts'

/** The simulator's data for netlink, and its faults. */
export interface TableSource {
  /** Number of the family; undefined while the module is not loaded. */
  family(): number | undefined
  services(): readonly SimulatedService[]
  /** Errno with which every query of the table is refused. */
  refusal(): number | undefined
  /** Whether this dump is reported as interrupted. */
  interrupts(): boolean
}

/** Bytes of a datagram: the kernel fills one before it begins the next. */
const DATAGRAM = 3_776
const ALL_ONES = 0xff_ff_ff_ff

/** The kernel's side of the socket. */
export function simulatedChannel(source: TableSource): NetlinkChannel & { readonly pending: Uint8Array[] } {
  const pending: Uint8Array[] = []
  return {
    pending,
    write: (message) => void pending.push(...answer(source, message)),
    read(into) {
      const next = pending.shift()
      if (next === undefined) return -1
      into.set(next)
      return next.length
    },
  }
}

function answer(source: TableSource, message: Uint8Array): readonly Uint8Array[] {
  const view = new DataView(message.buffer, message.byteOffset, message.length)
  if (view.getUint32(0, true) !== message.length) throw new Error('the length of the request is wrong')
  const type = view.getUint16(4, true)
  const sequence = view.getUint32(8, true)
  const command = message[MESSAGE_HEADER]
  const out = new Datagrams(sequence)
  if (type === CONTROLLER.type) return controller(out, source, attributesOf(view, MESSAGE_HEADER + GENERIC_HEADER))
  if (type !== source.family()) return out.failed(ERRNO.ENOENT)
  const refusal = source.refusal()
  if (refusal !== undefined) return out.failed(refusal)
  if ((view.getUint16(6, true) & FLAG.dump) !== FLAG.dump) return out.failed(ERRNO.EOPNOTSUPP)
  const flags = source.interrupts() ? FLAG.interrupted : 0
  if (command === COMMAND.getService) {
    for (const service of source.services()) out.add(type, flags, (to) => writeService(to, service))
  } else if (command === COMMAND.getDest) {
    const service = serviceOf(view, source)
    if (service === undefined) return out.failed(ERRNO.ESRCH)
    for (const dest of service.dests) out.add(type, flags, (to) => writeDest(to, dest))
  } else return out.failed(ERRNO.EOPNOTSUPP)
  return out.done()
}

function controller(out: Datagrams, source: TableSource, attributes: ReadonlyMap<number, DataView>) {
  const name = attributes.get(CONTROLLER.familyName)
  const family = source.family()
  const isIpvs = name !== undefined && textOf(name) === IPVS_FAMILY
  if (!isIpvs || family === undefined) return out.failed(ERRNO.ENOENT)
  out.add(CONTROLLER.type, 0, (to) => {
    to.command(CONTROLLER.newFamily, 2)
    to.text(CONTROLLER.familyName, IPVS_FAMILY)
    to.u16(CONTROLLER.familyId, family)
  })
  return out.take()
}

function attributesOf(view: DataView, from: number, end = view.byteLength): ReadonlyMap<number, DataView> {
  const found = new Map<number, DataView>()
  for (let at = from; at + ATTRIBUTE_HEADER <= end;) {
    const length = view.getUint16(at, true)
    if (length < ATTRIBUTE_HEADER || at + length > end) throw new Error('the request has a broken attribute')
    const start = view.byteOffset + at + ATTRIBUTE_HEADER
    found.set(view.getUint16(at + 2, true) & 0x3f_ff, new DataView(view.buffer, start, length - ATTRIBUTE_HEADER))
    at += (length + 3) & ~3
  }
  return found
}

const textOf = (view: DataView): string =>
  Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString().replace(/\0$/, '')

/** The service that a query names, compared byte by byte. */
function serviceOf(view: DataView, source: TableSource): SimulatedService | undefined {
  const outer = attributesOf(view, MESSAGE_HEADER + GENERIC_HEADER).get(COMMAND_ATTRIBUTE.service)
  if (outer === undefined) return undefined
  const inner = attributesOf(outer, 0)
  const family = inner.get(SERVICE.family)?.getUint16(0, true)
  const mark = inner.get(SERVICE.mark)?.getUint32(0, true)
  const address = inner.get(SERVICE.address)
  return source.services().find((service) => {
    if (service.family !== family || service.mark !== mark) return false
    if (mark !== undefined) return true
    const { words } = addressWords(service.address ?? '')
    const isAddress = words.every((word, index) => address?.getUint32(index * 4) === word)
    const port = inner.get(SERVICE.port)?.getUint16(0)
    return isAddress && port === service.port && inner.get(SERVICE.protocol)?.getUint16(0, true) === service.protocol
  })
}

/** Messages in datagrams of the kernel's size. */
class Datagrams {
  readonly #sequence: number
  readonly #writer = new MessageWriter(1_024)
  readonly #all: Uint8Array[] = []
  #parts: Uint8Array[] = []
  #length = 0

  constructor(sequence: number) {
    this.#sequence = sequence
  }

  add(type: number, flags: number, write: (to: MessageWriter) => void): void {
    this.#writer.begin(type, 2 | flags, this.#sequence, 4_711)
    write(this.#writer)
    const message = this.#writer.end().slice()
    if (this.#length + message.length > DATAGRAM) this.#flush()
    this.#parts.push(message)
    this.#length += message.length
  }

  #flush(): void {
    if (this.#parts.length > 0) this.#all.push(new Uint8Array(Buffer.concat(this.#parts)))
    this.#parts = []
    this.#length = 0
  }

  take(): readonly Uint8Array[] {
    this.#flush()
    return this.#all
  }

  done(): readonly Uint8Array[] {
    this.#flush()
    this.add(MESSAGE.done, 0, (to) => to.code(0))
    return this.take()
  }

  failed(errno: number): readonly Uint8Array[] {
    this.add(MESSAGE.error, 0, (to) => to.code(-errno))
    return this.take()
  }
}

function maskOf({ family, netmask }: SimulatedService): number {
  if (family !== AF_INET) return Number(netmask ?? 128)
  if (netmask === undefined) return ALL_ONES
  const [a = 0, b = 0, c = 0, d = 0] = netmask.split('.').map(Number)
  return (a | (b << 8) | (c << 16) | (d << 24)) >>> 0
}

function writeService(to: MessageWriter, service: SimulatedService): void {
  const { family, protocol, address, port, mark, scheduler, timeout } = service
  to.command(COMMAND.newService, IPVS_VERSION)
  const nested = to.open(COMMAND_ATTRIBUTE.service)
  to.u16(SERVICE.family, family)
  if (mark === undefined) {
    to.u16(SERVICE.protocol, protocol ?? 0)
    to.bytes(SERVICE.address, addressBytes(family, addressWords(address ?? '').words, 0))
    to.port(SERVICE.port, port ?? 0)
  } else to.u32(SERVICE.mark, mark)
  to.text(SERVICE.scheduler, scheduler)
  to.bytes(SERVICE.flags, Uint8Array.of(2 | (timeout === undefined ? 0 : PERSISTENT), 0, 0, 0, 255, 255, 255, 255))
  to.u32(SERVICE.timeout, timeout ?? 0)
  to.u32(SERVICE.netmask, maskOf(service))
  writeStats(to, SERVICE, service.stats.shown())
  to.close(nested)
}

function writeDest(to: MessageWriter, dest: SimulatedDest): void {
  to.command(COMMAND.newDest, IPVS_VERSION)
  const nested = to.open(COMMAND_ATTRIBUTE.dest)
  to.bytes(DEST.address, addressBytes(dest.family, addressWords(dest.address).words, 0))
  to.port(DEST.port, dest.port)
  to.u32(DEST.forwarding, FORWARDING[dest.forwarding] | 0x1_00)
  to.u32(DEST.weight, dest.weight)
  to.u32(DEST.upperThreshold, 0)
  to.u32(DEST.lowerThreshold, 0)
  to.u32(DEST.active, dest.active)
  to.u32(DEST.inactive, dest.inactive)
  to.u32(DEST.persistent, dest.persistent)
  to.u16(DEST.family, dest.family)
  writeStats(to, DEST, dest.stats.shown())
  to.close(nested)
}

/** Both forms, as in the kernel: the old one holds what fits into 32 bits. */
function writeStats(
  to: MessageWriter,
  numbers: { readonly stats32: number; readonly stats: number },
  shown: readonly number[],
): void {
  const old = to.open(numbers.stats32)
  for (const [index, value] of shown.entries()) {
    if (index === 3 || index === 4) to.u64(index + 1, value)
    else to.u32(index + 1, value % 2 ** 32)
  }
  to.close(old)
  const nested = to.open(numbers.stats)
  for (const [index, value] of shown.entries()) to.u64(index + 1, value)
  to.close(nested)
}
