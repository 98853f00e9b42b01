import type { PROGRAMS } from './programs.ts'

/** A socket that listens, and the unit of systemd, or the session, that made it: empty when nothing tells. */
export interface Listener {
  readonly ip: string
  readonly port: number
  readonly unit: string
}

/** What a plan may do to the machine. Implemented by workers/host; drivers only describe. */
export interface Host {
  /** What `run` would answer of a program that is not there; undefined where it is. */
  missingProgram(name: string): Promise<RunResult | undefined>
  /** Runs a program without a shell. The environment is LC_ALL=C. */
  run(argv: readonly string[], timeout_ms: number, outside?: Outside, kept?: KeptOutput): Promise<RunResult>
  readFile(path: string): Promise<string | undefined>
  /** Temporary file, fsync, rename, fsync of the folder: old or new, never between. */
  replaceFile(path: string, content: string, mode: number): Promise<void>
  /** Moves a file that was written by replaceFile over another one, durably. */
  renameFile(from: string, to: string): Promise<void>
  removeFile(path: string): Promise<void>
  /** Byte by byte, whatever it holds. */
  copyFile(from: string, to: string, mode: number): Promise<void>
  /**
   * Answers what makes it again what it is now: its bytes, mode, owner and group, a link as a link, or nothing where
   * there is nothing.
   */
  keepFile(path: string): Promise<() => Promise<void>>
  /** Names of the files in a folder; none when there is no such folder. */
  listFiles(folder: string): Promise<readonly string[]>
  /** Why nobody could listen on this port now; undefined when it is free. */
  portProblem(ip: string, port: number): Promise<string | undefined>
  /** The listeners on TCP ports; empty if systemd does not run HAProxy, or nothing reports them. */
  listeners(): Promise<readonly Listener[]>
  /** `start` of a running program does nothing; `reload` and `restart` of a stopped one start it. */
  unit(name: UnitName, verb: UnitVerb, timeout_ms: number): Promise<RunResult>
  unitState(name: UnitName): Promise<UnitState>
  /** Sends one command to a control socket, perhaps with a payload of lines, and reads the whole answer. */
  socket(path: string, request: string, timeout_ms: number, payload?: string): Promise<string>
  /** The value now; undefined when this machine has no such setting. */
  readSetting(setting: Setting): Promise<string | undefined>
  writeSetting(setting: Setting, value: string, timeout_ms: number): Promise<RunResult>
  /** How many changes were only recorded; stays 0 on a host that does everything. */
  readonly recorded: number
  /** What a setting was before it was first changed; kept durably, so that it can be given back. */
  readonly found: KeptValues
  /** The names that interfaces have now, by their stable ids. */
  interfaceNames(): Promise<ReadonlyMap<string, string>>
  /** Makes addresses, routes and rules of this daemon what is wanted; those of others stay. See NetworkStep. */
  network(desired: DesiredNetwork, phase: NetworkPhase, timeout_ms: number): Promise<NetworkOutcome>
  /** Changes an account of the machine; the password travels in memory and on standard input only. */
  account(change: AccountChange, timeout_ms: number): Promise<RunResult>
  /** Whether the account can log in; undefined when that cannot be read. */
  hasShell(account: AccountChange['account']): Promise<boolean | undefined>
}

/**
 * How much of a program's output is kept: 64 KiB for people to read, or as much as there is (64 MiB) if it is parsed.
 */
export type KeptOutput = 'beginning' | 'all'

/** Runs outside the confinement of the daemon's own unit, which may not read or write all of the machine. */
export interface Outside {
  /** Made under /run when it is not there, and left: some programs insist on theirs even for a check. */
  readonly runtimeDirectory?: string
}

/** One value of the machine that is not a file of ours: kept by the kernel or by a program. */
export type Setting =
  /** `key` with dots, such as net.netfilter.nf_conntrack_max. */
  | { readonly kind: 'sysctl'; readonly key: string }
  /** `loaded`, or `absent` while it could be loaded. A loaded one is never unloaded: by then others may use it. */
  | { readonly kind: 'kernelModule'; readonly name: string }
  /** Region/City of tzdata. */
  | { readonly kind: 'timezone' }
  /** Seconds: "tcp tcpfin udp", as in `ipvsadm --set`. */
  | { readonly kind: 'ipvsTimeouts' }
  /** `enabled` runs now and after each boot, `disabled` does neither. */
  | { readonly kind: 'unitEnabled'; readonly unit: UnitName }

export function settingKey(setting: Setting): string {
  if (setting.kind === 'sysctl') return `sysctl ${setting.key}`
  if (setting.kind === 'kernelModule') return `kernelModule ${setting.name}`
  return setting.kind === 'unitEnabled' ? `unitEnabled ${setting.unit}` : setting.kind
}

/** Small durable values by name. */
export interface KeptValues {
  get(key: string): Promise<string | undefined>
  /** Durable when it resolves; undefined forgets. */
  set(key: string, value: string | undefined): Promise<void>
}

/** What this daemon wants of the node's network. Interfaces by their stable ids. */
export interface DesiredNetwork {
  readonly addresses: readonly DesiredAddress[]
  readonly routes: readonly DesiredRoute[]
  readonly rules: readonly DesiredRule[]
  /** What the configuration has and is not made, in sentences: a warning for each. */
  readonly leftOut?: readonly string[]
}
export interface DesiredAddress {
  readonly ip: string
  readonly prefix: number
  readonly interfaceId: string
  /** Refuse to add it when another machine answers for it; ping `gateway` from it afterwards. */
  readonly pingCheck: boolean
  readonly gateway: string | undefined
}
export interface DesiredRoute {
  readonly type: 'unicast' | 'blackhole'
  /** CIDR; 0.0.0.0/0 and ::/0 are the default routes. */
  readonly destination: string
  readonly via: string | undefined
  readonly interfaceId: string | undefined
  readonly metric: number | undefined
  /** 254 is the main table. */
  readonly table: number
}
export interface DesiredRule {
  readonly priority: number
  /** CIDR. */
  readonly from: string
  readonly to: string | undefined
  readonly table: number
  /** The rule only counts for routes with a longer prefix than this. */
  readonly suppressPrefixLength: number | undefined
}

/** `add` makes what is missing and takes nothing away; `settle` makes everything as wanted. */
export type NetworkPhase = 'add' | 'settle'

export interface NetworkOutcome extends RunResult {
  /** Takes back what this call did; undefined when it did nothing. */
  readonly undo: (() => Promise<RunResult>) | undefined
  /** What a person should know although it is no failure: an unanswered ping, an unknown interface. */
  readonly warnings: readonly string[]
}

export interface AccountChange {
  readonly account: 'console'
  /** true: a login shell, false: none; undefined leaves it. */
  readonly shell: boolean | undefined
  /** undefined leaves it; random cannot be known by anybody. */
  readonly password: { readonly secret: string } | 'random' | undefined
}

/** Managed programs by the name they have in /services. */
export type UnitName = keyof typeof PROGRAMS
export type UnitVerb = 'start' | 'stop' | 'reload' | 'restart'
/** `silent` runs and does not answer. */
export type UnitState = 'running' | 'silent' | 'stopped' | 'failed' | 'missing'

export interface RunResult {
  /**
   * Exit code; 127 when the program is not installed, 126 when it could not be started, 124 when the deadline passed.
   */
  readonly exitCode: number
  readonly output: string
}
