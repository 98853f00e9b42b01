import { existsSync, readFileSync, statSync } from 'node:fs'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Takeover } from '../../storage/config/entry.ts'
import type { AuthorityRole, NamedKey } from '../cluster/authority.ts'
import { derOf } from '../cluster/revocation-list.ts'
import { replaceFile } from '../base/replaced-file.ts'
import type { StoredClusterKey } from '../cluster/sealing.ts'
import { clusterFolder, ETCD_FILE, etcdArguments, etcdFile } from '../drivers/etcd-file.ts'
import type { NodeAddress } from './node-address.ts'

/** A node's own record of its membership. */
export interface OwnMembership extends NodeAddress {
  readonly clusterId: string
  /** Name of the cluster, for people. */
  readonly name: string
  readonly nodeId: string
  /** Number of the history to which its etcd member belongs. */
  readonly epoch: number
  /** Oldest first. */
  readonly keys: readonly [StoredClusterKey, ...StoredClusterKey[]]
  /** Client URLs of the members that admitted it, for the time until it has read the others from the log. */
  readonly gateways?: readonly string[]
  /** The node is leaving, and becomes a single node. */
  readonly isLeaving?: boolean
  /** It leaves because the others are gone, and goes on alone with the floating IPs. */
  readonly goesOn?: boolean
  /** The node is making a cluster of its own etcd member alone. */
  readonly takingOver?: TakingOver
  /** Other nodes have gone on without it: it takes over their state, with a new etcd member. */
  readonly isReturning?: boolean
  /** Its etcd member is being removed, or was, because it is in maintenance and the other of two nodes continues. */
  readonly vote?: 'leaving' | 'out'
}

/** A takeover in progress. */
export type TakingOver = Omit<Takeover, 'since' | 'nodeId'>

/** Key and certificates in PEM. */
export interface NodeCredentials {
  readonly key: string
  readonly certificate: string
  /** The authorities whose certificates the node accepts; its own authority comes first. */
  readonly ca: string
  /** Revocation lists for the other nodes' certificates, one of each authority. */
  readonly crls?: readonly string[]
}

/** The revoked certificates, and lists of them. */
export interface Revocation {
  readonly serials: readonly string[]
  /** Numbers of the authorities whose certificates are accepted. */
  readonly authorities: readonly number[]
  /** PEM, for etcd. */
  readonly lists: Readonly<Record<AuthorityRole, string>>
  /** PEM, one list of each authority for clients. */
  readonly ofClients: readonly string[]
}

/** The part of a revocation that this node applies. */
export interface TrustHere extends Omit<Revocation, 'lists'> {
  /** Whether etcd applies it, and no earlier connection is left. */
  readonly isInForce: boolean
}

/** A certificate from each authority of the cluster. */
export interface NodeCertificates {
  readonly peer: NodeCredentials
  readonly client: NodeCredentials
}

const MEMBERSHIP = 'membership.json'
const WITNESS = 'witness.json'
const TRUST = 'trust.json'
const HALT = 'halt.json'
const HAPROXY = 'haproxy.json'
const PARTS = { key: 'key.pem', certificate: 'certificate.pem', ca: 'authority.pem', crl: 'revoked.crl' } as const
const ROLES = ['peer', 'client'] as const

const OWNER_ONLY = 0o600
const GROUP_READS = 0o640
const GROUP_ENTERS = 0o010

/**
 * The folder of a node's cluster, private to the daemon except for certificates and lists, which etcd reads. One file
 * states that the node is in a cluster; it is written last.
 */
export class ClusterFiles {
  readonly folder: string
  readonly #replace: typeof replaceFile

  constructor(stateFolder: string, replace = replaceFile) {
    this.folder = clusterFolder(stateFolder)
    this.#replace = replace
  }

  /** Whether there is a cluster, or remains of a crash while forming or joining one. */
  get exist(): boolean {
    return existsSync(this.folder)
  }

  read(): OwnMembership | undefined {
    const path = join(this.folder, MEMBERSHIP)
    if (!existsSync(path)) return undefined
    // Sound: only `commit` writes it.
    return JSON.parse(readFileSync(path, 'utf8')) as OwnMembership
  }

  certificates(): NodeCertificates {
    const of = (role: (typeof ROLES)[number]): NodeCredentials => ({
      key: readFileSync(this.path(role, 'key'), 'utf8'),
      certificate: readFileSync(this.path(role, 'certificate'), 'utf8'),
      ca: readFileSync(this.path(role, 'ca'), 'utf8'),
    })
    return { peer: of('peer'), client: { ...of('client'), crls: this.trust().ofClients } }
  }

  path(role: (typeof ROLES)[number], part: keyof typeof PARTS): string {
    return join(this.folder, `${role}-${PARTS[part]}`)
  }

  get dataFolder(): string {
    return join(this.folder, 'etcd')
  }

  /**
   * Socket of a witness's etcd, for its daemon. It has a folder of its own, the only other one that etcd may write to.
   */
  get socket(): string {
    return join(this.folder, 'socket', 'etcd.sock')
  }

  /** Marks this machine as the witness of a cluster instead of a node. */
  get witnessFile(): string {
    return join(this.folder, WITNESS)
  }

  /** Replaces the folder by what etcd needs to start. */
  async prepare(certificates: NodeCertificates, revocation: Revocation, etcd: readonly string[]): Promise<void> {
    await this.remove()
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    for (const role of ROLES) {
      for (const part of ['key', 'certificate', 'ca'] as const) await this.keep(role, part, certificates[role][part])
    }
    // There are no earlier connections.
    await this.keepRevocation(revocation, true)
    await this.keepArguments(etcd)
  }

  /**
   * Writes a file that etcd reads as well. On an appliance etcd runs under its own account, to whose group its unit has
   * given the folder and so new files in it: the group may enter the folder, and may read these files, but no others.
   */
  keep(role: (typeof ROLES)[number], part: keyof typeof PARTS, content: string | Uint8Array): Promise<void> {
    const isShared = (statSync(this.folder).mode & GROUP_ENTERS) !== 0
    return this.#replace(this.path(role, part), content, isShared ? GROUP_READS : OWNER_ONLY)
  }

  /** Stores certificates of the existing keys. Both sides of etcd read them again for each connection. */
  async keepCertificates(
    certified: Readonly<Record<AuthorityRole, Pick<NodeCredentials, 'certificate' | 'ca'>>>,
  ): Promise<void> {
    for (const role of ROLES) {
      await this.keep(role, 'certificate', certified[role].certificate)
      await this.keep(role, 'ca', certified[role].ca)
    }
  }

  /** Whether etcd is started with this argument. */
  hasArgument(argument: string): boolean {
    return etcdArguments(readFileSync(join(this.folder, ETCD_FILE), 'utf8')).includes(argument)
  }

  keepArguments(etcd: readonly string[]): Promise<void> {
    return this.#replace(join(this.folder, ETCD_FILE), etcdFile(etcd))
  }

  trust(): TrustHere {
    // Sound: only `keepTrust` writes it.
    return JSON.parse(readFileSync(join(this.folder, TRUST), 'utf8')) as TrustHere
  }

  keepTrust(trust: TrustHere): Promise<void> {
    return this.#replace(join(this.folder, TRUST), JSON.stringify(trust))
  }

  /** Why this node has stopped following its cluster, until it is in none, or has taken over the others' state. */
  get halt(): string | undefined {
    const path = join(this.folder, HALT)
    // Sound: only `keepHalt` writes it.
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { readonly why: string }).why : undefined
  }

  keepHalt(why: string): Promise<void> {
    return this.#replace(join(this.folder, HALT), JSON.stringify({ why }))
  }

  forgetHalt(): Promise<void> {
    return rm(join(this.folder, HALT), { force: true })
  }

  /** Key and certificate of the HAProxy beside this node for the others' HAProxys; undefined until created. */
  get haproxy(): NamedKey | undefined {
    const path = join(this.folder, HAPROXY)
    // Sound: only `keepHaproxy` writes it.
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as NamedKey) : undefined
  }

  keepHaproxy(named: NamedKey): Promise<void> {
    return this.#replace(join(this.folder, HAPROXY), JSON.stringify(named))
  }

  /** etcd reads the lists again for each connection, in DER, and authorities when it starts. */
  async keepRevocation(
    { lists, ...trust }: Revocation,
    isInForce: boolean,
    taken?: Readonly<Record<AuthorityRole, string>>,
  ): Promise<TrustHere> {
    for (const role of ROLES) {
      await this.keep(role, 'crl', derOf(lists[role]))
      if (taken !== undefined) await this.keep(role, 'ca', taken[role])
    }
    const here = { ...trust, isInForce }
    await this.keepTrust(here)
    return here
  }

  /** Removes the data and the arguments of the etcd member. */
  async wipeEtcd(): Promise<void> {
    await rm(join(this.folder, ETCD_FILE), { force: true })
    await this.wipeData()
  }

  /** Removes the data of the etcd member, which can be started again. */
  async wipeData(): Promise<void> {
    await rm(this.dataFolder, { recursive: true, force: true })
  }

  /** Changes the record of a node that is in a cluster. Values that are undefined are removed. */
  async change(changes: { readonly [K in keyof OwnMembership]?: OwnMembership[K] | undefined }): Promise<void> {
    const own = this.read()
    if (own !== undefined) await this.commit({ ...own, ...changes } as OwnMembership)
  }

  /** Makes the node a member of the cluster. */
  commit(membership: OwnMembership): Promise<void> {
    return this.#replace(join(this.folder, MEMBERSHIP), JSON.stringify(membership))
  }

  /** Removes the record of the membership last, so that after a crash the node is still found leaving. */
  async leave(): Promise<void> {
    for (const name of await readdir(this.folder))
      if (name !== MEMBERSHIP) await rm(join(this.folder, name), { recursive: true, force: true })
    await this.remove()
  }

  async remove(): Promise<void> {
    await rm(join(this.folder, MEMBERSHIP), { force: true })
    await rm(this.folder, { recursive: true, force: true })
  }
}
