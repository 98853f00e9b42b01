import type { CipherSuite } from '../../src/model/machine-facts.ts'
import type { Run } from '../host/managed-program.ts'

const TIMEOUT_MS = 10_000
const EVERYTHING = 'ALL:COMPLEMENTOFALL'
/** Authentication kinds that a certificate provides; suites with other kinds, or none, are useless here. */
const WITH_CERTIFICATE: ReadonlySet<string> = new Set(['RSA', 'ECDSA', 'any'])

/**
 * Lists the suites of the OpenSSL that HAProxy is linked with: the `openssl` program of the same distribution uses the
 * same library. Undefined where it is not installed.
 */
export async function readCipherSuites(run: Run): Promise<readonly CipherSuite[] | undefined> {
  const { exitCode, output } = await run(['openssl', 'ciphers', '-s', '-v', EVERYTHING], TIMEOUT_MS)
  if (exitCode !== 0) return undefined
  return output.split('\n').flatMap((line) => {
    const match = /^(\S+)\s+(\S+)\s+Kx=\S+\s+Au=(\S+)\s+Enc=(\S+)/.exec(line)
    const [, name = '', version, proof = '', encryption] = match ?? []
    const isUsable = WITH_CERTIFICATE.has(proof) && encryption !== 'None'
    return isUsable ? [{ name, isTls13: version === 'TLSv1.3' }] : []
  })
}
