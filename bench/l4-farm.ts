import type { NetlinkChannel } from '../src/ipvs/exchange.ts'
import type { L4Backend, L4Frontend } from '../src/model/layer4.ts'
import type { RealServer } from '../src/model/real-server.ts'
import type { SectionContents } from '../src/model/sections.ts'

/** Number of services, and of real servers that each of them has. */
export interface FarmSize {
  readonly services: number
  readonly reals: number
}

const serviceIp = (index: number) => `198.18.${index >> 8}.${index & 255}`
/** From 10.1.0.1 on: the first address of a network cannot be a server's. */
const realIp = (index: number) => `10.${1 + ((index + 1) >> 16)}.${((index + 1) >> 8) & 255}.${(index + 1) & 255}`

/** Returns the records of a farm. */
export function farmOf({ services, reals }: FarmSize): SectionContents {
  const realServers: RealServer[] = []
  const l4Backends: L4Backend[] = []
  const l4Frontends: L4Frontend[] = []
  for (let service = 0; service < services; service++) {
    const members = Array.from({ length: reals }, (_, member) => service * reals + member)
    for (const index of members) {
      const id = `real-${index}`
      realServers.push({ id, name: id, ip: realIp(index), port: 80, weight: 100, state: 'online' })
    }
    const backendId = `backend-${service}`
    l4Backends.push({
      id: backendId,
      name: backendId,
      scheduler: 'wlc',
      persistTimeout: 0,
      persistMask: null,
      reals: members.map((index) => ({ ripId: `real-${index}` })),
      healthCheck: { type: 'tcp' },
      fallback: null,
    })
    l4Frontends.push({
      id: `frontend-${service}`,
      name: `frontend-${service}`,
      ip: serviceIp(service),
      ports: '80',
      protocol: 'tcp',
      forwarding: 'masq',
      backendId,
      enabled: true,
    })
  }
  return { realServers, l4Backends, l4Frontends }
}

/** Returns as many services, all with the same real servers. */
export function sharedFarmOf(size: FarmSize): SectionContents {
  const { realServers = [], l4Backends = [], l4Frontends = [] } = farmOf(size)
  const reals = realServers.slice(0, size.reals)
  const members = reals.map(({ id }) => ({ ripId: id }))
  return { realServers: reals, l4Backends: l4Backends.map((backend) => ({ ...backend, reals: members })), l4Frontends }
}

/** Returns the same farm as input for `ipvsadm --restore`. */
export function ipvsadmRules({ services, reals }: FarmSize): readonly string[] {
  const lines: string[] = []
  for (let service = 0; service < services; service++) {
    lines.push(`-A -t ${serviceIp(service)}:80 -s wlc`)
    for (let member = 0; member < reals; member++)
      lines.push(`-a -t ${serviceIp(service)}:80 -r ${realIp(service * reals + member)}:80 -m -w 100`)
  }
  return lines
}

/** Repeats the answers that a channel has given once, so that only the reading is measured. */
export function replayed(channel: NetlinkChannel, datagramBytes = 65_536): NetlinkChannel {
  const known = new Map<string, readonly Uint8Array[]>()
  const buffer = new Uint8Array(datagramBytes)
  let pending: readonly Uint8Array[] = []
  let next = 0
  let sequence = 0
  return {
    write(message) {
      const view = new DataView(message.buffer, message.byteOffset, message.length)
      sequence = view.getUint32(8, true)
      const key = Buffer.from(message.subarray(16)).toString('latin1') + view.getUint16(4, true)
      let answer = known.get(key)
      if (answer === undefined) {
        channel.write(message)
        const all: Uint8Array[] = []
        for (let length = channel.read(buffer); length >= 0; length = channel.read(buffer))
          all.push(buffer.slice(0, length))
        answer = all
        known.set(key, answer)
      }
      pending = answer
      next = 0
    },
    read(into) {
      const datagram = pending[next++]
      if (datagram === undefined) return -1
      into.set(datagram)
      const view = new DataView(into.buffer, into.byteOffset, datagram.length)
      for (let at = 0; at < datagram.length; at += view.getUint32(at, true)) view.setUint32(at + 8, sequence, true)
      return datagram.length
    },
  }
}
