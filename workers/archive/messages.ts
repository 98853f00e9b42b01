/** What the archive thread and the main thread say to each other. Types only. */
import type { IpvsPlan } from '../../src/ipvs/names.ts'
import type { StorageFault } from './storage-watch.ts'

/** A Unix socket or a TCP port, as `node:net` connects to it. */
export type SocketTarget = { readonly path: string } | { readonly host: string; readonly port: number }

/** Where the figures come from. `any-socket` finds out itself whether a master or a plain process answers. */
export type StatsSource = SocketTarget & {
  readonly kind: 'master-socket' | 'stats-socket' | 'any-socket'
  /** Socket of a master's workers themselves: with it they are held until their last figures were read. */
  readonly statsSocket?: string | undefined
}

/** The kernel's balancing table, over a netlink socket that was handed down; undefined when there is none. */
export interface IpvsSource {
  readonly kind: 'ipvs'
  readonly fd: number | undefined
}

/** One archive: where it is, and what it keeps. */
export interface ArchiveOptions<S> {
  readonly directory: string
  readonly source: S
}

/** The archives that the thread writes. */
export interface ArchivesOptions {
  readonly layer7: ArchiveOptions<StatsSource>
  readonly layer4?: ArchiveOptions<IpvsSource> | undefined
}

export type ObjectKind = 'frontend' | 'backend' | 'server'

/** One object of the archive as the reader needs it: its permanent number and its column in the ring. */
export interface ObjectPlace {
  readonly objectId: number
  readonly kind: ObjectKind
  readonly name: string
  /** For a server, the backend that holds it; else empty. */
  readonly backend: string
  readonly slot: number
}

/** A health check came to another verdict. */
export interface HealthChange {
  /** Names of HAProxy's rows. */
  readonly backend: string
  readonly server: string
  readonly up: boolean
  /** What the check said, in HAProxy's words. */
  readonly reason: string
}

/** What is told after every poll, whatever was asked. */
export interface TickState {
  /** Seconds before this one are answered for. */
  readonly hwm_s: number
  /** Seconds before this one are on the disk. */
  readonly stored_s: number
  readonly up: boolean
  readonly since_ms: number
  readonly reason: string | undefined
  /** What keeps the archive from storing, or makes it keep less; `undefined` when all is well. */
  readonly storage: StorageFault | undefined
  /** Counts the times that seconds which were answered for turned out to be lost. */
  readonly losses: number
}

export interface HaproxyTick {
  /** The raw answer of `show stat`, moved here without a copy; absent when the poll failed. */
  readonly csv: Uint8Array<ArrayBuffer> | undefined
  /**
   * Start offsets of the rows that count (frontends, backends, servers), in the order of the answer; the header row is
   * first.
   */
  readonly rows: Uint32Array<ArrayBuffer> | undefined
  /** Kind of each row except the header, as HAProxy numbers them. */
  readonly kinds: Uint8Array<ArrayBuffer> | undefined
  /** Where the status of each of them stands, but of the header; 0 where there is none. */
  readonly statuses: Uint32Array<ArrayBuffer> | undefined
  /** Changes when the set or the order of the rows changes. */
  readonly layout: number
  /** Servers that went up or down; absent when none did. */
  readonly health: readonly HealthChange[] | undefined
  /**
   * Numbers of the objects of the rows, in their order; sent when the layout is another one than at the tick before.
   */
  readonly listed: Uint32Array<ArrayBuffer> | undefined
}

export interface IpvsTick {
  /**
   * A row of numbers for each object of the plan, moved here without a copy; absent when the table could not be read.
   */
  readonly figures: Float64Array<ArrayBuffer> | undefined
  /** Version of that plan. */
  readonly plan: number
}

/** A poll has ended, and brought this. */
export type TickMessage<Tick> = { readonly type: 'tick' } & TickState & Tick

/** What is said of one archive. */
export type FromArchive<Tick> =
  | {
      readonly type: 'ready'
      readonly header: SharedArrayBuffer
      readonly slabs: readonly SharedArrayBuffer[]
      readonly objects: readonly ObjectPlace[]
    }
  | { readonly type: 'slab'; readonly index: number; readonly buffer: SharedArrayBuffer }
  | {
      readonly type: 'objects'
      readonly added: readonly ObjectPlace[]
      readonly removed: readonly number[]
      readonly forgotten: readonly number[]
    }
  | TickMessage<Tick>
  | { readonly type: 'warning'; readonly message: string; readonly detail: string }

export type FromArchiveThread =
  | { readonly type: 'layer7'; readonly message: FromArchive<HaproxyTick> }
  | { readonly type: 'layer4'; readonly message: FromArchive<IpvsTick> }
  | { readonly type: 'done'; readonly request: number; readonly problems: readonly string[] }

export type ToArchiveThread =
  | { readonly type: 'stop' }
  /** Poll at once, outside the rhythm: before a reload, so that what the ending worker counted is not lost. */
  | { readonly type: 'capture'; readonly request: number }
  /** Verifies every invariant of every archive. */
  | { readonly type: 'check'; readonly request: number }
  /** Which entries of the kernel's table are whose. */
  | { readonly type: 'plan'; readonly plan: IpvsPlan }
  /** The clock of the machine was set on purpose. */
  | { readonly type: 'clockStepped' }
