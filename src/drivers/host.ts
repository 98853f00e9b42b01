import type { PROGRAMS } from './programs.ts'

/** A listening socket, and the systemd unit or session that created it: empty if unknown. */
export interface Listener {
  readonly ip: string
  readonly port: number
  readonly unit: string
}

/** The operations of a plan on the machine. Implemented by workers/host; drivers only describe. */
export interface Host {
  /** Returns what `run` would for a program that is not installed; undefined if it is. */
  missingProgram(name: string): Promise<RunResult | undefined>
  /** Runs a program without a shell. The environment is LC_ALL=C. */
  run(argv: readonly string[], timeout_ms: number, outside?: Outside, kept?: KeptOutput): Promise<RunResult>
  readFile(path: string): Promise<string | undefined>
  /** Writes a temporary file, flushes, renames, and flushes the folder: never leaves a mixture of old and new. */
  replaceFile(path: string, content: string, mode: number): Promise<void>
  /** Moves a file written by replaceFile over another one, durably. */
  renameFile(from: string, to: string): Promise<void>
  removeFile(path: string): Promise<void>
  /** Copies byte by byte, whatever the content. */
  copyFile(from: string, to: string, mode: number): Promise<void>
  /**
   * Returns a function that restores the current state: bytes, mode, owner and group, a link as a link, or no file if
   * there is none.
   */
  keepFile(path: string): Promise<() => Promise<void>>
  /** Names of the files in a folder; none when there is no such folder. */
  listFiles(folder: string): Promise<readonly string[]>
  /** Returns why no program could listen on this port now; undefined when it is free. */
  portProblem(ip: string, port: number): Promise<string | undefined>
  /** The listeners on TCP ports; empty if systemd does not run HAProxy, or nothing reports them. */
  listeners(): Promise<readonly Listener[]>
  /** `start` of a running program does nothing; `reload` and `restart` of a stopped one start it. */
  unit(name: UnitName, verb: UnitVerb, timeout_ms: number): Promise<RunResult>
  unitState(name: UnitName): Promise<UnitState>
  /** Sends one command to a control socket, optionally with a payload of lines, and returns the whole answer. */
  socket(path: string, request: string, timeout_ms: number, payload?: string): Promise<string>
  /** Returns the current value; undefined when this machine has no such setting. */
  readSetting(setting: Setting): Promise<string | undefined>
  writeSetting(setting: Setting, value: string, timeout_ms: number): Promise<RunResult>
  /** Number of changes that were only recorded; stays 0 on a host that carries out everything. */
  readonly recorded: number
  /** Values of settings before their first change; stored durably, so that they can be given back. */
  readonly found: KeptValues
  /** The current interface names by their stable ids. */
  interfaceNames(): Promise<ReadonlyMap<string, string>>
  /** Brings this daemon's addresses, routes and rules to the wanted state; those of others stay. See NetworkStep. */
  network(desired: DesiredNetwork, phase: NetworkPhase, timeout_ms: number): Promise<NetworkOutcome>
  /** Changes an account of the machine; the password is only passed in memory and on standard input. */
  account(change: AccountChange, timeout_ms: number): Promise<RunResult>
  /** Whether the account can log in; undefined when that cannot be read. */
  hasShell(account: AccountChange['account']): Promise<boolean | undefined>
}

/** How much of a program's output is kept: 64 KiB for people to read, or everything (up to 64 MiB) for parsing. */
export type KeptOutput = 'beginning' | 'all'

/**
 * Options for running outside the confinement of the daemon's own unit, which may not read or write the whole machine.
 */
export interface Outside {
  /** Created under /run if missing, and kept: some programs need their folder even for a check. */
  readonly runtimeDirectory?: string
}

/** One value of the machine that is not in a file of ours: kept by the kernel or by a program. */
export type Setting =
  /** `key` with dots, such as net.netfilter.nf_conntrack_max. */
  | { readonly kind: 'sysctl'; readonly key: string }
  /**
   * `loaded`, or `absent` while it could be loaded. A loaded module is never unloaded, because others may use it by
   * then.
   */
  | { readonly kind: 'kernelModule'; readonly name: string }
  /** Region/City of tzdata. */
  | { readonly kind: 'timezone' }
  /** Seconds: "tcp tcpfin udp", as in `ipvsadm --set`. */
  | { readonly kind: 'ipvsTimeouts' }
  /** `enabled` runs now and starts at boot, `disabled` does neither. */
  | { readonly kind: 'unitEnabled'; readonly unit: UnitName }

export function settingKey(setting: Setting): string {
  if (setting.kind === 'sysctl') return `sysctl ${setting.key}`
  if (setting.kind === 'kernelModule') return `kernelModule ${setting.name}`
  return setting.kind === 'unitEnabled' ? `unitEnabled ${setting.unit}` : setting.kind
}

/** Small durable values by name. */
export interface KeptValues {
  get(key: string): Promise<string | undefined>
  /** Durable when it resolves; undefined removes the value. */
  set(key: string, value: string | undefined): Promise<void>
}

/** The part of the node's network that this daemon wants. Interfaces are given by their stable ids. */
export interface DesiredNetwork {
  readonly addresses: readonly DesiredAddress[]
  readonly routes: readonly DesiredRoute[]
  readonly rules: readonly DesiredRule[]
  /** Parts of the configuration that are not made, as sentences, each of which becomes a warning. */
  readonly leftOut?: readonly string[]
}
export interface DesiredAddress {
  readonly ip: string
  readonly prefix: number
  readonly interfaceId: string
  /** Whether to refuse the address if another machine answers for it, and to ping `gateway` from it afterwards. */
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
  /** The rule applies only to routes with a longer prefix than this. */
  readonly suppressPrefixLength: number | undefined
}

/** `add` adds what is missing and removes nothing; `settle` establishes the wanted state. */
export type NetworkPhase = 'add' | 'settle'

export interface NetworkOutcome extends RunResult {
  /** Reverts the changes of this call; undefined if there were none. */
  readonly undo: (() => Promise<RunResult>) | undefined
  /** Facts for people that are no failure: an unanswered ping, an unknown interface. */
  readonly warnings: readonly string[]
}

export interface AccountChange {
  readonly account: 'console'
  /** true: a login shell, false: none; undefined leaves it unchanged. */
  readonly shell: boolean | undefined
  /** undefined leaves it unchanged; with `random` no user knows it. */
  readonly password: { readonly secret: string } | 'random' | undefined
}

/** Managed programs by their name in /services. */
export type UnitName = keyof typeof PROGRAMS
export type UnitVerb = 'start' | 'stop' | 'reload' | 'restart'
/** `silent`: the program runs but does not answer. */
export type UnitState = 'running' | 'silent' | 'stopped' | 'failed' | 'missing'

export interface RunResult {
  /**
   * Exit code; 127 when the program is not installed, 126 when it could not be started, 124 when the deadline passed.
   */
  readonly exitCode: number
  readonly output: string
}
