import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { replaceFile } from '../base/replaced-file.ts'
import { readNodeCertificate } from '../cluster/node-certificate.ts'
import { ClusterFiles, type NodeCredentials, type TrustHere } from '../membership/cluster-files.ts'
import type { Certified } from '../membership/foundation.ts'
import type { NodeAddress } from '../membership/node-address.ts'
import type { KnownNode, TrustOrder } from '../membership/witness-orders.ts'

/**
 * The witness's record of its cluster. None of it is secret; the witness's only secret is the key of its certificate.
 */
export interface OwnWitness extends NodeAddress {
  readonly clusterId: string
  /** Display name of the cluster. */
  readonly name: string
  /** The witness's own id. */
  readonly nodeId: string
  readonly nodes: readonly KnownNode[]
}

/** The application for admission. Stored before it is sent, because the answer may get lost. */
export interface Applying {
  /**
   * With another token there is another application: by this one the witness may have been admitted, and removed again.
   */
  readonly tokenId: string
  readonly nodeId: string
  /** In PEM. */
  readonly key: string
}

const APPLYING = 'applying.json'

/** The folder of a witness's cluster: that of a node, except for the file that marks its membership. */
export class WitnessFiles {
  readonly cluster: ClusterFiles
  readonly #file: string
  readonly #applying: string

  constructor(stateFolder: string) {
    this.cluster = new ClusterFiles(stateFolder)
    this.#file = this.cluster.witnessFile
    this.#applying = join(this.cluster.folder, APPLYING)
  }

  /** Returns undefined when it is the witness of no cluster. */
  read(): OwnWitness | undefined {
    // Sound: written by `commit` only.
    return existsSync(this.#file) ? (JSON.parse(readFileSync(this.#file, 'utf8')) as OwnWitness) : undefined
  }

  /** Makes it the witness of a cluster from now on. */
  commit(own: OwnWitness): Promise<void> {
    return replaceFile(this.#file, JSON.stringify(own))
  }

  applying(): Applying | undefined {
    // Sound: written by `keepApplying` only.
    return existsSync(this.#applying) ? (JSON.parse(readFileSync(this.#applying, 'utf8')) as Applying) : undefined
  }

  async keepApplying(applying: Applying): Promise<void> {
    await mkdir(this.cluster.folder, { recursive: true, mode: 0o700 })
    await replaceFile(this.#applying, JSON.stringify(applying))
  }

  /** Writes the files that etcd needs to start. */
  async prepare({ key }: Applying, certified: Certified, trust: TrustOrder, etcd: readonly string[]): Promise<void> {
    await rm(this.cluster.dataFolder, { recursive: true, force: true })
    await this.cluster.keep('peer', 'key', key)
    await this.keepCertified(certified)
    // There were no connections yet.
    await this.keepTrust(trust, true)
    await this.keepArguments(etcd)
  }

  /** Writes etcd's arguments, and creates the folder for its socket. */
  async keepArguments(etcd: readonly string[]): Promise<void> {
    await mkdir(dirname(this.cluster.socket), { recursive: true, mode: 0o700 })
    await this.cluster.keepArguments(etcd)
  }

  /** Removes the application after the admission. */
  async dropApplying(): Promise<void> {
    await rm(this.#applying, { force: true })
  }

  /** Stores the certificate of the existing key. */
  async keepCertified({ certificate, ca }: Certified): Promise<void> {
    await this.cluster.keep('peer', 'certificate', certificate)
    await this.cluster.keep('peer', 'ca', ca)
  }

  keepTrust({ revocation, taken }: TrustOrder, isInForce: boolean): Promise<TrustHere> {
    return this.cluster.keepRevocation(revocation, isInForce, taken)
  }

  /**
   * Returns the certificate that the witness presents, and those that it accepts: it is certified as a peer, and nodes
   * connect as clients.
   */
  credentials(): NodeCredentials & { readonly notAfter_ms: number } {
    const text = (role: 'peer' | 'client', part: 'key' | 'certificate' | 'ca') =>
      readFileSync(this.cluster.path(role, part), 'utf8')
    const certificate = text('peer', 'certificate')
    const { notAfter_ms } = readNodeCertificate(certificate)
    const crls = this.cluster.trust().ofClients
    return { key: text('peer', 'key'), certificate, ca: text('client', 'ca'), crls, notAfter_ms }
  }
}
