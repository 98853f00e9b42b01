import type { NetworkInterface } from '../../src/model/machine-facts.ts'
import type { Run } from '../host/managed-program.ts'
import { interfaceOf, linksOf, parsedJson, type RawLink } from '../host/network/links.ts'

const TIMEOUT_MS = 10_000
const NOT_INSTALLED = 127
/** Some hundred bytes per address. */
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

/** Returns all network interfaces but loopback, sorted by name, with the addresses that are valid beyond their link. */
export async function readInterfaces(run: Run): Promise<readonly NetworkInterface[]> {
  const { exitCode, output } = await run(['ip', '-j', '-d', 'address', 'show'], TIMEOUT_MS, {
    output_max: OUTPUT_BYTES_MAX,
  })
  if (exitCode === NOT_INSTALLED) return []
  if (exitCode !== 0) throw new Error(`interfaces cannot be read: ${output}`)
  return linksOf(parsedJson<RawLink>(output))
    .map(interfaceOf)
    .toSorted((a, b) => a.name.localeCompare(b.name, 'en', { numeric: true }))
}
