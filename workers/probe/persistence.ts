import { createReadStream, existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { MOVED, TABLE } from '../../src/drivers/keepalived/nftables.ts'
import { canonicalIp } from '../../src/base/ip-network.ts'
import type { MovedClient, Persistence, PersistenceTemplate } from '../../src/model/persistence.ts'
import type { Run } from '../host/managed-program.ts'

const CONNECTIONS = '/proc/net/ip_vs_conn'
const TIMEOUT_MS = 10_000
/** Limit of nft's list of moved clients: some 200,000 entries. */
const OUTPUT_MAX = 32 * 1024 * 1024

/** Returns the kernel's memory of the clients of these marks; undefined on a machine without IPVS. */
export async function readPersistence(marks: readonly number[], run: Run): Promise<Persistence | undefined> {
  if (!existsSync(CONNECTIONS)) return undefined
  const wanted = new Set(marks)
  const templates: PersistenceTemplate[] = []
  for await (const line of createInterface({ input: createReadStream(CONNECTIONS) })) {
    const template = parseTemplate(line)
    if (template !== undefined && wanted.has(template.mark)) templates.push(template)
  }
  const moved: MovedClient[] = []
  for (const map of Object.values(MOVED)) {
    const argv = ['nft', '--json', 'list', 'map', 'inet', TABLE, map]
    const { exitCode, output } = await run(argv, TIMEOUT_MS, { output_max: OUTPUT_MAX })
    if (exitCode === 0) moved.push(...parseMoved(output).filter(({ from }) => wanted.has(from)))
  }
  return { templates, moved }
}

/**
 * Parses a line as ip_vs_conn_seq_show of the kernel prints it, if it is the template of a mark: protocol IP, the
 * client without a port, and the mark in place of the service address.
 */
export function parseTemplate(line: string): PersistenceTemplate | undefined {
  const [protocol, client = '', clientPort, service = '', , , , , expires = ''] = line.trim().split(/\s+/)
  if (protocol !== 'IP' || clientPort !== '0000') return undefined
  const isIpv6 = client.includes(':')
  const mark = Number.parseInt(isIpv6 ? service.slice(0, 9).replace(':', '') : service, 16)
  return { mark, clientIp: isIpv6 ? canonicalIp(client) : dotted(client), expires_s: Number(expires) }
}

const dotted = (hex: string): string => (hex.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16)).join('.')

type Address = string | { readonly prefix: { readonly addr: string; readonly len: number } }
interface Listed {
  readonly nftables?: readonly {
    readonly map?: {
      readonly elem?: readonly (readonly [{ readonly concat: readonly [Address, number] }, number])[]
    }
  }[]
}

/** Parses nft's list of one map. */
export function parseMoved(output: string): readonly MovedClient[] {
  const { nftables = [] }: Listed = JSON.parse(output)
  return nftables.flatMap(({ map }) =>
    (map?.elem ?? []).map(([{ concat }, to]) => ({ client: networkText(concat[0]), from: concat[1], to })),
  )
}

function networkText(address: Address): string {
  if (typeof address !== 'string') return `${canonicalIp(address.prefix.addr)}/${address.prefix.len}`
  return `${canonicalIp(address)}/${address.includes(':') ? 128 : 32}`
}
