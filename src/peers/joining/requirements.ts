import { VERSION } from '../../base/version.ts'
import { pinOfRequest } from '../../cluster/authority.ts'
import { type JoinAddress, type JoinRole, parseJoinAddress } from '../../cluster/join-token.ts'
import { FIRST_LEVEL } from '../../cluster/levels.ts'
import { CertificateError } from '../../cluster/node-certificate.ts'
import { JoinError } from './join-error.ts'
import { type Application, readApplication, shownRequest } from './protocol.ts'

const SKEW_MAX_MS = 60_000

/** A node's request, read before its address is tried. */
export interface Applying {
  readonly application: Application
  readonly address: JoinAddress
  /** Pin of the key that its peer port will present. */
  readonly pin: string
  /** Identifies both keys for which it requests certificates. */
  readonly keys: string
}

/**
 * Reads a node's description of itself.
 *
 * @throws {JoinError} INVALID_APPLICATION.
 */
export async function readApplying(sent: unknown): Promise<Applying> {
  const application = readApplication(sent)
  if (application === undefined) throw invalid('The data of the node cannot be read')
  const address = parseJoinAddress(application.address)
  if (address === undefined) throw invalid('The address of the node is not HOST:PORT, with [HOST] for IPv6')
  try {
    const pin = await pinOfRequest(shownRequest(application))
    return { application, address, pin, keys: `${await pinOfRequest(application.peerRequest)}.${pin}` }
  } catch (error) {
    if (error instanceof CertificateError) throw invalid(error.message)
    throw error
  }
}

const invalid = (what: string) => new JoinError('INVALID_APPLICATION', `${what}; use the same version of Fulcrum`)

/**
 * Compares the role with the token's. A witness needs no client certificate, and a node cannot do without one.
 *
 * @throws {JoinError} OTHER_ROLE.
 */
export function assertRole({ clientRequest }: Application, role: JoinRole): void {
  const joins: JoinRole = clientRequest === undefined ? 'witness' : 'node'
  if (joins === role) return
  throw new JoinError(
    'OTHER_ROLE',
    `The token is for a ${role}, but a ${joins} is joining; create a token for a ${joins}`,
  )
}

/** The values that a joining node must match. */
export interface Fitting {
  readonly level: number
  readonly now_ms: number
}

/**
 * Versions must have the same first two numbers, and clocks must agree within a minute. Entries of the cluster that a
 * node does not know would stop it; a witness reads none.
 *
 * @throws {JoinError} OTHER_VERSION or CLOCK_SKEW.
 */
export function assertFits(application: Application, cluster: Fitting): void {
  const { version, level = FIRST_LEVEL, now_ms, clientRequest } = application
  if (seriesOf(version) !== seriesOf(VERSION)) {
    throw new JoinError(
      'OTHER_VERSION',
      `The node has Fulcrum ${version}, but the cluster has ${VERSION}; bring both to the same version first`,
    )
  }
  if (clientRequest !== undefined && level < cluster.level) {
    throw new JoinError(
      'OTHER_VERSION',
      `The node has an earlier Fulcrum (${version}) that does not know all records of the cluster; update it to the cluster's version (${VERSION}) first`,
    )
  }
  const skew_ms = now_ms - cluster.now_ms
  if (Math.abs(skew_ms) <= SKEW_MAX_MS) return
  const way = skew_ms > 0 ? 'ahead of' : 'behind'
  throw new JoinError(
    'CLOCK_SKEW',
    `The clock of the node is ${Math.round(Math.abs(skew_ms) / 1000)} s ${way} that of the cluster; set it, or use NTP`,
  )
}

const seriesOf = (version: string) => version.split('.').slice(0, 2).join('.')
