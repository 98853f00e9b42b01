import type { Persistence } from './persistence.ts'
import type { PackageFacts, UpdateGround, VolumeFacts } from './software.ts'

/** Readings of the machine. They run in a probe worker and never change anything. */
/** A number of connections; undefined if HAProxy does not answer. */
export type OpenSessions = number | 'not running' | undefined

export interface MachineFacts {
  /** Returns the network interfaces except loopback, ordered by name. */
  interfaces(): Promise<readonly NetworkInterface[]>
  /** Sends a few echo requests from one of this node's addresses to another machine; takes a few seconds at most. */
  ping(from: string, to: string): Promise<PingResult>
  /** Returns the connections of this client to this port of the node. */
  connections(client: string, port: number): Promise<readonly Connection[]>
  /** Returns the kernel's persistence entries for these firewall marks; undefined on a machine without IPVS. */
  persistence(marks: readonly number[]): Promise<Persistence | undefined>
  /** Returns whether the console account can log in; undefined if that cannot be read. */
  consoleEnabled(): Promise<boolean | undefined>
  /** Returns nf_conntrack_max; undefined if the kernel tracks no connections. */
  conntrackSize(): Promise<number | undefined>
  /** Returns the present clock of the machine, whatever is stored. */
  clock(): Promise<ClockFacts>
  /** Returns the names from tzdata, in order; undefined if it is not installed. */
  timeZones(): Promise<readonly string[] | undefined>
  ssh(): Promise<SshFacts>
  /** Suites that HAProxy can use with a certificate, in the order of OpenSSL; undefined if openssl is not installed. */
  cipherSuites(): Promise<readonly CipherSuite[] | undefined>
  /** Returns the HAProxy of this machine; undefined if it is not installed. */
  haproxy(): Promise<HaproxyFacts | undefined>
  /** Returns what apt would install now, without asking a repository; undefined if there is no apt. */
  packages(): Promise<PackageFacts | undefined>
  /** A different text means that installed or offered packages may have changed. */
  packagesStamp(): Promise<string>
  updateGround(): Promise<UpdateGround>
  /** Returns whether an update takes effect only after a restart. */
  restartRequired(): Promise<boolean>
  volume(): Promise<VolumeFacts>
  /** Returns the version that the etcd program of a cluster reports; undefined if there is none. */
  etcd(): Promise<string | undefined>
  /** Returns the present number of connections of these frontends. */
  sessions(statsSocket: string, frontends: readonly string[]): Promise<OpenSessions>
  /** Runs a health check once in its sandbox; takes ten seconds at most. Refuses with TOO_MANY_AT_ONCE. */
  tryCheck(trial: CheckTrial): Promise<CheckTried>
  /** Runs any other script once, in the same sandbox. */
  runScript(script: ScriptRun): Promise<ScriptRan>
}

export interface ScriptRun {
  readonly script: string
  /** Arguments of the script, visible to everybody. */
  readonly words: readonly string[]
  /** Standard input of the script, visible to nobody. */
  readonly input: string
  /** Seconds until it is killed. */
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
  /** Whether it was built with the libraries for HTTP/3. */
  readonly hasQuic: boolean
}

export interface CipherSuite {
  readonly name: string
  /** Whether it is a suite of TLS 1.3, and so of no other version. */
  readonly isTls13: boolean
}

/** How a client and this node reach each other. */
export interface Connection {
  /** The node's address that the client is connected to. */
  readonly local: string
  /** CIDR of the route for packets to the client. */
  readonly destination: string
  /** Next hop of that route; absent if the client's network is directly connected. */
  readonly via?: string
}

export interface NetworkInterface {
  /** Survives reboots and, for a real or virtual card, a rename. */
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
  /** Average; null if nothing was answered. */
  readonly roundTrip_ms: number | null
  /** Why it failed, in the words of ping. */
  readonly reason: string | undefined
}

export interface ClockFacts {
  /** Region/City; undefined if the machine does not report one. */
  readonly timezone: string | undefined
  /** Whether a service keeps the clock; undefined if that cannot be read. */
  readonly ntpEnabled: boolean | undefined
  /** The status that chrony reports; undefined if it does not run. */
  readonly tracking: ClockTracking | undefined
}
export interface ClockTracking {
  readonly synchronised: boolean
  /** Name or address of the server that is followed; null if there is none. */
  readonly reference: string | null
  readonly stratum: number
  /** Difference between clock and reference; positive if the clock is fast. */
  readonly offset_s: number
  readonly servers: readonly { readonly name: string; readonly state: string; readonly reachable: boolean }[]
}

export interface SshFacts {
  /** undefined if sshd is not installed. */
  readonly enabled: boolean | undefined
  readonly port: number | undefined
}
