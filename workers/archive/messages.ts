/** The messages between archive thread and main thread. Types only. */
import type { IpvsPlan } from '../../src/ipvs/names.ts'
import type { StorageFault } from './storage-watch.ts'

/** A Unix socket or a TCP port, as `node:net` connects to it. */
export type SocketTarget = { readonly path: string } | { readonly host: string; readonly port: number }

/** Source of the figures. With `any-socket` the thread finds out whether a master or a plain process answers. */
export type StatsSource = SocketTarget & {
  readonly kind: 'master-socket' | 'stats-socket' | 'any-socket'
  /** Stats socket of a master's own workers: over it they are held until their last figures were read. */
  readonly statsSocket?: string | undefined
}

/** The kernel's balancing table, over an inherited netlink socket; undefined if there is none. */
export interface IpvsSource {
  readonly kind: 'ipvs'
  readonly fd: number | undefined
}

/** Location and source of one archive. */
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
  /** For a server, its backend; else empty. */
  readonly backend: string
  readonly slot: number
}

/** A server went up or down by its health check. */
export interface HealthChange {
  /** Names as in HAProxy's rows. */
  readonly backend: string
  readonly server: string
  readonly up: boolean
  /** The result of the check, in HAProxy's words. */
  readonly reason: string
}

/** State that is reported after every poll, whatever its outcome. */
export interface TickState {
  /** Seconds before this one are final. */
  readonly hwm_s: number
  /** Seconds before this one are on disk. */
  readonly stored_s: number
  readonly up: boolean
  readonly since_ms: number
  readonly reason: string | undefined
  /** What keeps the archive from storing, or makes it keep less; `undefined` when there is no problem. */
  readonly storage: StorageFault | undefined
  /** How many times seconds that had been final were lost. */
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
  /** Offset of the status in each row except the header; 0 where a row has none. */
  readonly statuses: Uint32Array<ArrayBuffer> | undefined
  /** Changes with the set or the order of the rows. */
  readonly layout: number
  /** Servers that went up or down; absent when none did. */
  readonly health: readonly HealthChange[] | undefined
  /** Object numbers in row order; sent when the layout differs from the previous tick's. */
  readonly listed: Uint32Array<ArrayBuffer> | undefined
}

export interface IpvsTick {
  /** The figures of each object of the plan, moved here without a copy; absent when the table could not be read. */
  readonly figures: Float64Array<ArrayBuffer> | undefined
  /** Version of that plan. */
  readonly plan: number
}

/** A poll has ended, with this result. */
export type TickMessage<Tick> = { readonly type: 'tick' } & TickState & Tick

/** Messages about one archive. */
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
  /** Poll at once, outside the rhythm: before a reload, so that the figures of the ending worker are not lost. */
  | { readonly type: 'capture'; readonly request: number }
  /** Verifies every invariant of every archive. */
  | { readonly type: 'check'; readonly request: number }
  /** Sets which entries of the kernel's table belong to which objects. */
  | { readonly type: 'plan'; readonly plan: IpvsPlan }
  /** The machine's clock was set on purpose. */
  | { readonly type: 'clockStepped' }
