import type { Persistence } from './persistence.ts'
import type { PackageFacts, UpdateGround, VolumeFacts } from './software.ts'

/** Reads of the machine itself. They run in a probe worker and never change anything. */
export interface MachineFacts {
  /** Network interfaces but loopback, ordered by name. */
  interfaces(): Promise<readonly NetworkInterface[]>
  /** Sends a few echo requests from one of this node's addresses to another machine; takes seconds at the most. */
  ping(from: string, to: string): Promise<PingResult>
  /** The connections of this client to this port of the node. */
  connections(client: string, port: number): Promise<readonly Connection[]>
  /** What the kernel remembers of the clients of these firewall marks; undefined on a machine without IPVS. */
  persistence(marks: readonly number[]): Promise<Persistence | undefined>
  /** Whether the console account can log in; undefined when that cannot be read. */
  consoleEnabled(): Promise<boolean | undefined>
  /** Value of nf_conntrack_max; undefined when the kernel tracks no connections. */
  conntrackSize(): Promise<number | undefined>
  /** The machine's clock now, whatever is stored. */
  clock(): Promise<ClockFacts>
  /** Names of tzdata, in order; undefined when it is not installed. */
  timeZones(): Promise<readonly string[] | undefined>
  ssh(): Promise<SshFacts>
  /**
   * Suites that HAProxy can use with a certificate, in the order of OpenSSL; undefined when openssl is not installed.
   */
  cipherSuites(): Promise<readonly CipherSuite[] | undefined>
  /** The HAProxy of this machine; undefined when it is not installed. */
  haproxy(): Promise<HaproxyFacts | undefined>
  /** What apt would install now, without asking a repository; undefined where there is no apt. */
  packages(): Promise<PackageFacts | undefined>
  /** Another text means that what is installed or offered may have changed. */
  packagesStamp(): Promise<string>
  updateGround(): Promise<UpdateGround>
  /** Whether something that was updated counts after a restart only. */
  restartRequired(): Promise<boolean>
  volume(): Promise<VolumeFacts>
  /** What the etcd of a cluster would say of its version; undefined where there is none. */
  etcd(): Promise<string | undefined>
  /** Connections that these frontends have now; 0 when HAProxy does not run. */
  sessions(statsSocket: string, frontends: readonly string[]): Promise<number>
  /** Runs a health check once, in its sandbox; takes ten seconds at the most. Refuses with TOO_MANY_AT_ONCE. */
  tryCheck(trial: CheckTrial): Promise<CheckTried>
  /** Runs any other script once, in the same sandbox. */
  runScript(script: ScriptRun): Promise<ScriptRan>
}

export interface ScriptRun {
  readonly script: string
  /** What it is called with, seen by everybody. */
  readonly words: readonly string[]
  /** What it reads, seen by nobody. */
  readonly input: string
  /** Until it is killed. */
  readonly seconds: number
}
export interface ScriptRan {
  readonly exitCode: number
  readonly durationMs: number
  /** Without control characters. */
  readonly output: string
}

/** One run of a health check. */
export interface CheckTrial {
  readonly script: string
  readonly ip: string
  readonly port: number
  /** `--name=value` each. */
  readonly flags: readonly string[]
}
export interface CheckTried extends ScriptRan {
  readonly up: boolean
}

export interface HaproxyFacts {
  /** Such as 2.6.12. */
  readonly version: string
  /** Built with what HTTP/3 takes. */
  readonly hasQuic: boolean
}

export interface CipherSuite {
  readonly name: string
  /** A suite of TLS 1.3, and of no other version. */
  readonly isTls13: boolean
}

/** How a client and this node reach each other. */
export interface Connection {
  /** The node's address that the client is connected to. */
  readonly local: string
  /** CIDR of the route that packets to the client take. */
  readonly destination: string
  /** Next hop of that route; absent when the client's network is connected. */
  readonly via?: string
}

export interface NetworkInterface {
  /** Survives reboots and, for a real or virtual card, another name. */
  readonly id: string
  readonly name: string
  readonly mac: string
  readonly mtu: number
  readonly state: 'up' | 'down' | 'unknown'
  readonly addresses: readonly { readonly ip: string; readonly prefix: number }[]
}

export interface PingResult {
  readonly ok: boolean
  readonly sent: number
  readonly received: number
  /** Average; null when nothing was answered. */
  readonly roundTrip_ms: number | null
  /** Why it failed, in the words of ping. */
  readonly reason: string | undefined
}

export interface ClockFacts {
  /** Region/City; undefined when the machine does not say. */
  readonly timezone: string | undefined
  /** Whether a service keeps the clock; undefined when that cannot be read. */
  readonly ntpEnabled: boolean | undefined
  /** What chrony says of itself; undefined when it does not run. */
  readonly tracking: ClockTracking | undefined
}
export interface ClockTracking {
  readonly synchronised: boolean
  /** Name or address of the server that is followed; null when none is. */
  readonly reference: string | null
  readonly stratum: number
  /** Difference between clock and reference; positive when the clock is fast. */
  readonly offset_s: number
  readonly servers: readonly { readonly name: string; readonly state: string; readonly reachable: boolean }[]
}

export interface SshFacts {
  /** undefined when sshd is not installed. */
  readonly enabled: boolean | undefined
  readonly port: number | undefined
}
