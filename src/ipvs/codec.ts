import { FLAG, GENERIC_HEADER, ATTRIBUTE_HEADER, ATTRIBUTE_TYPE_MASK, attributeEnd } from './netlink.ts'
import { type MessageWriter, NetlinkError, pad } from './netlink.ts'
import { AF_INET, COMMAND, COMMAND_ATTRIBUTE, CONTROLLER, DEST } from './protocol.ts'
import { IPVS_FAMILY, IPVS_VERSION, MARK_BIT, SERVICE, STATS_COUNT } from './protocol.ts'
import { DEST_FIGURES, FIGURE, IDENTITY_WORDS, type IpvsTable } from './table.ts'

const ADDRESS_BYTES = 16
const decoder = new TextDecoder()

export function familyRequest(out: MessageWriter, sequence: number): Uint8Array {
  out.begin(CONTROLLER.type, FLAG.request, sequence)
  out.command(CONTROLLER.getFamily, CONTROLLER.version)
  out.text(CONTROLLER.familyName, IPVS_FAMILY)
  return out.end()
}

export function servicesRequest(out: MessageWriter, type: number, sequence: number): Uint8Array {
  out.begin(type, FLAG.request | FLAG.dump, sequence)
  out.command(COMMAND.getService, IPVS_VERSION)
  return out.end()
}

/** Returns the request for the destinations of one service of the table. */
export function destsRequest(
  out: MessageWriter,
  type: number,
  sequence: number,
  table: IpvsTable,
  service: number,
): Uint8Array {
  const ids = table.services.ids
  const at = service * IDENTITY_WORDS
  const head = ids[at] ?? 0
  out.begin(type, FLAG.request | FLAG.dump, sequence)
  out.command(COMMAND.getDest, IPVS_VERSION)
  const nested = out.open(COMMAND_ATTRIBUTE.service)
  out.u16(SERVICE.family, head & 0xff)
  if ((head & MARK_BIT) !== 0) out.u32(SERVICE.mark, ids[at + 1] ?? 0)
  else {
    out.u16(SERVICE.protocol, (head >> 8) & 0xff)
    out.bytes(SERVICE.address, addressBytes(head & 0xff, ids, at + 2))
    out.port(SERVICE.port, ids[at + 1] ?? 0)
  }
  out.close(nested)
  return out.end()
}

const ADDRESS = new Uint8Array(ADDRESS_BYTES)
const ADDRESS_VIEW = new DataView(ADDRESS.buffer)

/** Returns the kernel's form; the next call overwrites it. */
export function addressBytes(family: number, words: ArrayLike<number>, at: number): Uint8Array {
  const used = family === AF_INET ? 1 : 4
  for (let word = 0; word < 4; word++) ADDRESS_VIEW.setUint32(word * 4, word < used ? (words[at + word] ?? 0) : 0)
  return ADDRESS
}

/** Returns the number of the family from an answer of the controller. */
export function familyId(view: DataView, at: number, end: number): number | undefined {
  for (let from = at + GENERIC_HEADER; from + ATTRIBUTE_HEADER <= end;) {
    const to = attributeEnd(view, from, end)
    if (typeAt(view, from) === CONTROLLER.familyId) return view.getUint16(from + ATTRIBUTE_HEADER, true)
    from = pad(to - from) + from
  }
  return undefined
}

const typeAt = (view: DataView, at: number): number => view.getUint16(at + 2, true) & ATTRIBUTE_TYPE_MASK

/** Decodes the entries of a dump into a table. One decoder serves all readings. */
export class TableDecoder {
  readonly #words = new Uint32Array(IDENTITY_WORDS)
  /** Figures of the current entry in the order of their attributes, followed by its statistics. */
  readonly #figures = new Float64Array(16)
  readonly #stats = new Float64Array(STATS_COUNT)
  #scheduler = ''
  readonly #known = new Map<number, string>()
  #hasStats = false

  service(table: IpvsTable, view: DataView, at: number, end: number): void {
    const inside = this.#nested(view, at, end, COMMAND.newService, COMMAND_ATTRIBUTE.service)
    if (inside === undefined) return
    this.#words.fill(0)
    this.#figures.fill(0)
    this.#hasStats = false
    for (let from = inside.at; from + ATTRIBUTE_HEADER <= inside.end;) {
      const to = attributeEnd(view, from, inside.end)
      this.#serviceAttribute(view, typeAt(view, from), from + ATTRIBUTE_HEADER, to)
      from += pad(to - from)
    }
    const family = this.#figures[SERVICE.family] ?? 0
    const mark = this.#figures[SERVICE.mark] ?? 0
    this.#words[0] = mark > 0 ? family | MARK_BIT : family | ((this.#figures[SERVICE.protocol] ?? 0) << 8)
    this.#words[1] = mark > 0 ? mark : (this.#figures[SERVICE.port] ?? 0)
    if (mark > 0) this.#words.fill(0, 2)
    const index = table.addService(this.#words)
    table.schedulers[index] = this.#scheduler
    for (const [place, attribute] of [SERVICE.flags, SERVICE.timeout, SERVICE.netmask].entries())
      table.settings[index * 3 + place] = this.#figures[attribute] ?? 0
    this.#takeStats(table.services.stats, index)
  }

  #serviceAttribute(view: DataView, type: number, at: number, end: number): void {
    const figures = this.#figures
    switch (type) {
      case SERVICE.family:
      case SERVICE.protocol:
        figures[type] = view.getUint16(at, true)
        return
      case SERVICE.port:
        figures[type] = view.getUint16(at)
        return
      case SERVICE.address:
        return this.#address(view, at, end)
      case SERVICE.mark:
      case SERVICE.flags:
      case SERVICE.timeout:
      case SERVICE.netmask:
        figures[type] = view.getUint32(at, true)
        return
      case SERVICE.scheduler:
        this.#scheduler = this.#name(view, at, end)
        return
      case SERVICE.stats:
        return this.#readStats(view, at, end)
    }
  }

  dest(table: IpvsTable, serviceFamily: number, view: DataView, at: number, end: number): void {
    const inside = this.#nested(view, at, end, COMMAND.newDest, COMMAND_ATTRIBUTE.dest)
    if (inside === undefined) return
    const figures = this.#figures
    this.#words.fill(0)
    figures.fill(0)
    this.#hasStats = false
    for (let from = inside.at; from + ATTRIBUTE_HEADER <= inside.end;) {
      const to = attributeEnd(view, from, inside.end)
      this.#destAttribute(view, typeAt(view, from), from + ATTRIBUTE_HEADER, to)
      from += pad(to - from)
    }
    // Kernels before 3.18 do not report the family: then it is the service's.
    this.#words[0] = figures[DEST.family] || serviceFamily
    this.#words[1] = figures[DEST.port] ?? 0
    const index = table.addDest(this.#words)
    const base = index * DEST_FIGURES
    table.dests.figures[base + FIGURE.forwarding] = figures[DEST.forwarding] ?? 0
    table.dests.figures[base + FIGURE.weight] = figures[DEST.weight] ?? 0
    table.dests.figures[base + FIGURE.active] = figures[DEST.active] ?? 0
    table.dests.figures[base + FIGURE.inactive] = figures[DEST.inactive] ?? 0
    table.dests.figures[base + FIGURE.persistent] = figures[DEST.persistent] ?? 0
    this.#takeStats(table.dests.stats, index)
  }

  #destAttribute(view: DataView, type: number, at: number, end: number): void {
    switch (type) {
      case DEST.address:
        return this.#address(view, at, end)
      case DEST.port:
        this.#figures[type] = view.getUint16(at)
        return
      case DEST.family:
        this.#figures[type] = view.getUint16(at, true)
        return
      case DEST.stats:
        return this.#readStats(view, at, end)
      case DEST.stats32:
        return
      default:
        if (type < this.#figures.length && end - at === 4) this.#figures[type] = view.getUint32(at, true)
    }
  }

  /** Returns the attribute with the entry; undefined for a message about something else. */
  #nested(view: DataView, at: number, end: number, command: number, attribute: number) {
    if (at + GENERIC_HEADER + ATTRIBUTE_HEADER > end || view.getUint8(at) !== command) return undefined
    const from = at + GENERIC_HEADER
    const to = attributeEnd(view, from, end)
    return typeAt(view, from) === attribute ? { at: from + ATTRIBUTE_HEADER, end: to } : undefined
  }

  #address(view: DataView, at: number, end: number): void {
    for (let word = 0; word < 4 && at + word * 4 + 4 <= end; word++)
      this.#words[2 + word] = view.getUint32(at + word * 4)
  }

  /** Caches the names of schedulers, of which there are few. */
  #name(view: DataView, at: number, end: number): string {
    let hash = 0
    let to = at
    for (; to < end && view.getUint8(to) !== 0; to++) hash = (hash * 31 + view.getUint8(to)) >>> 0
    let name = this.#known.get(hash)
    if (name === undefined) {
      name = decoder.decode(new Uint8Array(view.buffer, view.byteOffset + at, to - at))
      this.#known.set(hash, name)
    }
    return name
  }

  #readStats(view: DataView, at: number, end: number): void {
    this.#stats.fill(Number.NaN)
    this.#hasStats = true
    for (let from = at; from + ATTRIBUTE_HEADER <= end;) {
      const to = attributeEnd(view, from, end)
      const type = typeAt(view, from)
      // An attribute of another size than 64 bits is something else with the same number.
      if (type >= 1 && type <= STATS_COUNT && to - from === ATTRIBUTE_HEADER + 8)
        this.#stats[type - 1] =
          view.getUint32(from + ATTRIBUTE_HEADER, true) + view.getUint32(from + ATTRIBUTE_HEADER + 4, true) * 2 ** 32
      from += pad(to - from)
    }
  }

  #takeStats(column: Float64Array, index: number): void {
    if (!this.#hasStats) throw new NetlinkError('it has no 64-bit counters (a kernel before 4.1)')
    column.set(this.#stats, index * STATS_COUNT)
  }
}
