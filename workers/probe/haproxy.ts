import type { HaproxyFacts } from '../../src/model/machine-facts.ts'
import type { Run } from '../host/managed-program.ts'

const TIMEOUT_MS = 10_000

/** Returns the version of HAProxy and whether it has QUIC. Undefined where it is not installed. */
export async function readHaproxy(program: string, run: Run): Promise<HaproxyFacts | undefined> {
  const { exitCode, output } = await run([program, '-vv'], TIMEOUT_MS)
  const version = /^HAProxy version (\d+(?:\.\d+)*)/m.exec(output)?.[1]
  if (exitCode !== 0 || version === undefined) return undefined
  return { version, hasQuic: /^Feature list :.* \+QUIC( |$)/m.test(output) }
}
