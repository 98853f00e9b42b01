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

/** What a node knows of its cluster without asking anybody. */
export interface OwnMembership extends NodeAddress {
  readonly clusterId: string
  /** Name of the cluster, for people. */
  readonly name: string
  readonly nodeId: string
  /** Number of the history that its etcd member belongs to. */
  readonly epoch: number
  /** Oldest first. */
  readonly keys: readonly [StoredClusterKey, ...StoredClusterKey[]]
  /** Client URLs of the members that admitted it: it reads the others from the log, which it may not have yet. */
  readonly gateways?: readonly string[]
  /** It is on its way out, and becomes a single node. */
  readonly isLeaving?: boolean
  /** It makes a cluster of its own member of etcd alone. */
  readonly takingOver?: TakingOver
  /** Others have gone on without it: it takes over what they have, with a new member of etcd. */
  readonly isReturning?: boolean
  /** Its member of etcd is being removed, or is: it is in maintenance, and the other one of two nodes goes on. */
  readonly vote?: 'leaving' | 'out'
}

/** A takeover that has begun and has not ended. */
export type TakingOver = Omit<Takeover, 'since' | 'nodeId'>

/** PEM. */
export interface NodeCredentials {
  readonly key: string
  readonly certificate: string
  /** The authorities whose certificates it accepts; its own authority comes first. */
  readonly ca: string
  /** What no longer counts of the other nodes' certificates: a list of each authority. */
  readonly crls?: readonly string[]
}

/** The certificates that do not count any more, and the lists of them. */
export interface Revocation {
  readonly serials: readonly string[]
  /** Numbers of the authorities whose certificates count. */
  readonly authorities: readonly number[]
  /** PEM, for etcd. */
  readonly lists: Readonly<Record<AuthorityRole, string>>
  /** PEM, of each authority for clients. */
  readonly ofClients: readonly string[]
}

/** What of it counts here. */
export interface TrustHere extends Omit<Revocation, 'lists'> {
  /** etcd goes by it, and no connection is left that was there before. */
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
 * The folder of a node's cluster, for the daemon's eyes; etcd reads its certificates and lists there, and nothing else.
 * That the node is in a cluster is said by one file, which is written when everything else is there.
 */
export class ClusterFiles {
  readonly folder: string
  readonly #replace: typeof replaceFile

  constructor(stateFolder: string, replace = replaceFile) {
    this.folder = clusterFolder(stateFolder)
    this.#replace = replace
  }

  /** Something is there: a cluster, or what a crash has left of forming or joining one. */
  get exist(): boolean {
    return existsSync(this.folder)
  }

  read(): OwnMembership | undefined {
    const path = join(this.folder, MEMBERSHIP)
    if (!existsSync(path)) return undefined
    // Sound: written by `commit` only.
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

  /** Socket of a witness's etcd, for its daemon. It has a folder of its own, because etcd writes nowhere else. */
  get socket(): string {
    return join(this.folder, 'socket', 'etcd.sock')
  }

  /** It says that this is no node but the witness of a cluster. */
  get witnessFile(): string {
    return join(this.folder, WITNESS)
  }

  /** Begins anew with what etcd needs to start. */
  async prepare(certificates: NodeCertificates, revocation: Revocation, etcd: readonly string[]): Promise<void> {
    await this.remove()
    await mkdir(this.folder, { recursive: true, mode: 0o700 })
    for (const role of ROLES) {
      for (const part of ['key', 'certificate', 'ca'] as const) await this.keep(role, part, certificates[role][part])
    }
    // Nobody was connected yet.
    await this.keepRevocation(revocation, true)
    await this.keepArguments(etcd)
  }

  /**
   * What etcd reads as well. On an appliance it runs by an account of its own, to whose group its unit has given the
   * folder, and with that what is made inside: the group may enter it, so it may read this, and no other file.
   */
  keep(role: (typeof ROLES)[number], part: keyof typeof PARTS, content: string | Uint8Array): Promise<void> {
    const isShared = (statSync(this.folder).mode & GROUP_ENTERS) !== 0
    return this.#replace(this.path(role, part), content, isShared ? GROUP_READS : OWNER_ONLY)
  }

  /** Stores certificates of the existing keys. Both sides of etcd read them anew for each connection. */
  async keepCertificates(
    certified: Readonly<Record<AuthorityRole, Pick<NodeCredentials, 'certificate' | 'ca'>>>,
  ): Promise<void> {
    for (const role of ROLES) {
      await this.keep(role, 'certificate', certified[role].certificate)
      await this.keep(role, 'ca', certified[role].ca)
    }
  }

  /** Whether etcd is started with this. */
  hasArgument(argument: string): boolean {
    return etcdArguments(readFileSync(join(this.folder, ETCD_FILE), 'utf8')).includes(argument)
  }

  keepArguments(etcd: readonly string[]): Promise<void> {
    return this.#replace(join(this.folder, ETCD_FILE), etcdFile(etcd))
  }

  trust(): TrustHere {
    // Sound: written by `keepTrust` only.
    return JSON.parse(readFileSync(join(this.folder, TRUST), 'utf8')) as TrustHere
  }

  keepTrust(trust: TrustHere): Promise<void> {
    return this.#replace(join(this.folder, TRUST), JSON.stringify(trust))
  }

  /** Why this node follows its cluster no longer, until it is in none, or has taken over what the others have. */
  get halt(): string | undefined {
    const path = join(this.folder, HALT)
    // Sound: written by `keepHalt` only.
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { readonly why: string }).why : undefined
  }

  keepHalt(why: string): Promise<void> {
    return this.#replace(join(this.folder, HALT), JSON.stringify({ why }))
  }

  forgetHalt(): Promise<void> {
    return rm(join(this.folder, HALT), { force: true })
  }

  /** What the HAProxy beside this node shows those of the others; undefined until it has been made. */
  get haproxy(): NamedKey | undefined {
    const path = join(this.folder, HAPROXY)
    // Sound: written by `keepHaproxy` only.
    return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as NamedKey) : undefined
  }

  keepHaproxy(named: NamedKey): Promise<void> {
    return this.#replace(join(this.folder, HAPROXY), JSON.stringify(named))
  }

  /** etcd reads the lists anew for each connection, in DER, and authorities when it starts. */
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

  /** What it has of its member of etcd goes, and with it what that is started with. */
  async wipeEtcd(): Promise<void> {
    await rm(join(this.folder, ETCD_FILE), { force: true })
    await this.wipeData()
  }

  /** It can be started again as before. */
  async wipeData(): Promise<void> {
    await rm(this.dataFolder, { recursive: true, force: true })
  }

  /** For a node that is in a cluster. Values that are undefined are removed. */
  async change(changes: { readonly [K in keyof OwnMembership]?: OwnMembership[K] | undefined }): Promise<void> {
    const own = this.read()
    if (own !== undefined) await this.commit({ ...own, ...changes } as OwnMembership)
  }

  /** From now on the node is in the cluster. */
  commit(membership: OwnMembership): Promise<void> {
    return this.#replace(join(this.folder, MEMBERSHIP), JSON.stringify(membership))
  }

  /** What a node leaves goes before the file that says it was in a cluster: a crash between finds it leaving. */
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
