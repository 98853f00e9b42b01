import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIP } from 'node:net'
import type { Test } from 'tap'

const TYPES = { 1: 'A', 28: 'AAAA', 33: 'SRV' } as const
const TTL_S = 1
const [NO_ERROR, SERVFAIL, NXDOMAIN] = [0, 2, 3]

/** Answer for a name: addresses (none: the name exists without addresses), a failure, or no answer. */
export type DnsAnswer = readonly string[] | 'refuses' | 'silent'

/** One answer for the name of a service. */
export interface Service {
  readonly target: string
  readonly port: number
  readonly weight?: number
}

/** A name server on loopback, over UDP, whose answers a test changes while it runs. An unknown name is NXDOMAIN. */
export class DnsServer {
  readonly names = new Map<string, DnsAnswer>()
  readonly services = new Map<string, readonly Service[]>()
  /** Requested names, in their order. */
  readonly asked: string[] = []
  readonly #socket: Socket
  #isClosed = false

  readonly port: number

  private constructor(socket: Socket) {
    this.#socket = socket
    this.port = socket.address().port
    socket.on('message', (query, from) => {
      const answer = this.#answer(query)
      if (answer !== undefined) socket.send(answer, from.port, from.address)
    })
  }

  static async start(test: Test, port = 0): Promise<DnsServer> {
    const socket = createSocket('udp4')
    socket.bind(port, '127.0.0.1')
    await once(socket, 'listening')
    const server = new DnsServer(socket)
    test.teardown(() => server.close())
    return server
  }

  /** Closes the server, so that nothing listens any more. */
  close(): void {
    if (!this.#isClosed) this.#socket.close()
    this.#isClosed = true
  }

  #answer(query: Buffer): Buffer | undefined {
    const { name, end } = questionOf(query)
    this.asked.push(name)
    const known = this.names.get(name.toLowerCase())
    if (known === 'silent') return undefined
    const type = TYPES[query.readUInt16BE(end) as keyof typeof TYPES]
    const family = type === 'A' ? 4 : type === 'AAAA' ? 6 : undefined
    const ips = known === undefined || known === 'refuses' ? [] : known.filter((ip) => isIP(ip) === family)
    const services = type === 'SRV' ? (this.services.get(name.toLowerCase()) ?? []) : []
    const records = [...ips.map(recordOf), ...services.map(serviceOf)]
    const code =
      services.length > 0 ? NO_ERROR : known === undefined ? NXDOMAIN : known === 'refuses' ? SERVFAIL : NO_ERROR
    const head = Buffer.alloc(12)
    query.copy(head, 0, 0, 2)
    // An answer, with recursion desired and available.
    head.writeUInt16BE(0x8180 | code, 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(records.length, 6)
    return Buffer.concat([head, query.subarray(12, end + 4), ...records])
  }
}

function questionOf(query: Buffer): { readonly name: string; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.'), end: at + 1 }
}

function recordOf(ip: string): Buffer {
  const address = isIP(ip) === 4 ? Buffer.from(ip.split('.').map(Number)) : groupsOf(ip)
  return resourceOf(address.length === 4 ? 1 : 28, address)
}

function serviceOf({ target, port, weight = 1 }: Service): Buffer {
  const numbers = Buffer.alloc(6)
  numbers.writeUInt16BE(weight, 2)
  numbers.writeUInt16BE(port, 4)
  const labels = target.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label)]))
  return resourceOf(33, Buffer.concat([numbers, ...labels, Buffer.from([0])]))
}

/** The name refers to that of the question. */
function resourceOf(type: number, data: Buffer): Buffer {
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc0_0c, 0)
  head.writeUInt16BE(type, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(TTL_S, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function groupsOf(ip: string): Buffer {
  const [before = '', after = ''] = ip.split('::')
  const words = (text: string) => text.split(':').filter((word) => word !== '')
  const [head, tail] = [words(before), words(after)]
  const all = [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => '0'), ...tail]
  return Buffer.from(all.map((word) => word.padStart(4, '0')).join(''), 'hex')
}
