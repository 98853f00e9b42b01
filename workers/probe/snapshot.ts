import { LVS, parseLvs } from '../../src/drivers/lvm/parse.ts'
import type { VolumeFacts } from '../../src/model/software.ts'
import type { Run } from '../host/managed-program.ts'

const QUERY_TIMEOUT_MS = 20_000
const OUTPUT_BYTES_MAX = 1024 * 1024

export async function readVolume(run: Run): Promise<VolumeFacts> {
  const root = await run(['findmnt', '--noheadings', '--first-only', '--output', 'SOURCE', '/'], QUERY_TIMEOUT_MS)
  const source = root.output.trim()
  if (root.exitCode !== 0 || !source.startsWith('/dev/mapper/')) {
    return {
      isSupported: false,
      reason: `the root file system is on ${source || 'something unknown'}, which is not a logical volume`,
    }
  }
  // lvs asks the device mapper, whose device is hidden from the daemon's own unit.
  const lvs = await run(LVS, QUERY_TIMEOUT_MS, { isUnconfined: true, output_max: OUTPUT_BYTES_MAX })
  if (lvs.exitCode === 127) return { isSupported: false, reason: 'lvm2 is not installed' }
  if (lvs.exitCode !== 0) return { isSupported: false, reason: `lvs failed: ${lvs.output.slice(0, 300)}` }
  return parseLvs(lvs.output, source)
}
