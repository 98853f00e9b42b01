import { existsSync, readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { replaceFile } from '../base/replaced-file.ts'
import { readNodeCertificate } from '../cluster/node-certificate.ts'
import { ClusterFiles, type NodeCredentials, type TrustHere } from '../membership/cluster-files.ts'
import type { Certified } from '../membership/foundation.ts'
import type { NodeAddress } from '../membership/node-address.ts'
import type { KnownNode, TrustOrder } from '../membership/witness-orders.ts'

/** What a witness knows of its cluster. Nothing of it is secret, and its one secret is the key of its certificate. */
export interface OwnWitness extends NodeAddress {
  readonly clusterId: string
  /** Name of the cluster, for people. */
  readonly name: string
  /** Its own id. */
  readonly nodeId: string
  readonly nodes: readonly KnownNode[]
}

/** The application to be admitted. Stored before it is sent, because the answer may get lost. */
export interface Applying {
  /** It is another one with another token: by this one it may have been let in, and removed again. */
  readonly tokenId: string
  readonly nodeId: string
  /** PEM. */
  readonly key: string
}

const APPLYING = 'applying.json'

/** The folder of a witness's cluster, which is that of a node but for what says that it is in one. */
export class WitnessFiles {
  readonly cluster: ClusterFiles
  readonly #file: string
  readonly #applying: string

  constructor(stateFolder: string) {
    this.cluster = new ClusterFiles(stateFolder)
    this.#file = this.cluster.witnessFile
    this.#applying = join(this.cluster.folder, APPLYING)
  }

  /** Undefined: it is the witness of no cluster. */
  read(): OwnWitness | undefined {
    // Sound: written by `commit` only.
    return existsSync(this.#file) ? (JSON.parse(readFileSync(this.#file, 'utf8')) as OwnWitness) : undefined
  }

  /** From now on it is a witness. */
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

  /** What etcd needs to start. */
  async prepare({ key }: Applying, certified: Certified, trust: TrustOrder, etcd: readonly string[]): Promise<void> {
    await rm(this.cluster.dataFolder, { recursive: true, force: true })
    await this.cluster.keep('peer', 'key', key)
    await this.keepCertified(certified)
    // Nobody was connected yet.
    await this.keepTrust(trust, true)
    await this.keepArguments(etcd)
  }

  /** What etcd is started with, and the folder of the socket that it makes. */
  async keepArguments(etcd: readonly string[]): Promise<void> {
    await mkdir(dirname(this.cluster.socket), { recursive: true, mode: 0o700 })
    await this.cluster.keepArguments(etcd)
  }

  /** It was let in: what it has asked with is not needed any more. */
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
   * The certificate that it presents, and those that it accepts: it is certified as a peer, and nodes come as clients.
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
