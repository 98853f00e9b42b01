/** The tasks of the probe pool: readings of the machine, which change nothing and may run beside a plan. */
import { workerData } from 'node:worker_threads'
import type {
  CheckTrial,
  CheckTried,
  CipherSuite,
  ClockFacts,
  Connection,
  HaproxyFacts,
  NetworkInterface,
  OpenSessions,
  PingResult,
  ScriptRan,
  ScriptRun,
  SshFacts,
} from '../src/model/machine-facts.ts'
import type { PackageFacts, UpdateGround, VolumeFacts } from '../src/model/software.ts'
import type { Host } from '../src/drivers/host.ts'
import { createHost } from './host/create-host.ts'
import type { HostSettings } from './host/host-settings.ts'
import { runProgram } from './host/linux-host.ts'
import { readCipherSuites } from './probe/ciphers.ts'
import { readClock, readTimeZones } from './probe/clock.ts'
import { readConnections } from './probe/connections.ts'
import { readEtcdVersion } from './probe/etcd.ts'
import { readHaproxy } from './probe/haproxy.ts'
import { runHealthCheck, runScript } from './probe/health-check.ts'
import { readInterfaces } from './probe/interfaces.ts'
import { readPackages, readUpdateGround } from './probe/packages.ts'
import type { Persistence } from '../src/model/persistence.ts'
import { readPersistence } from './probe/persistence.ts'
import { ping as send } from './probe/ping.ts'
import { readSessions } from './probe/sessions.ts'
import { readVolume } from './probe/snapshot.ts'
import { readSsh } from './probe/ssh.ts'

export { isRestartRequired as restartRequired, packagesStamp } from './probe/packages.ts'

let made: Host | undefined
function host(): Host {
  const settings: HostSettings = workerData
  return (made ??= createHost(settings))
}

export function interfaces(): Promise<readonly NetworkInterface[]> {
  return readInterfaces(runProgram)
}

export function ping({ from, to }: { readonly from: string; readonly to: string }): Promise<PingResult> {
  return send(from, to, runProgram)
}

export function connections({
  client,
  port,
}: {
  readonly client: string
  readonly port: number
}): Promise<readonly Connection[]> {
  return readConnections(client, port, runProgram)
}

export function persistence(marks: readonly number[]): Promise<Persistence | undefined> {
  return readPersistence(marks, runProgram)
}

export function consoleEnabled(): Promise<boolean | undefined> {
  return host().hasShell('console')
}

export async function conntrackSize(): Promise<number | undefined> {
  const size = Number(await host().readSetting({ kind: 'sysctl', key: 'net.netfilter.nf_conntrack_max' }))
  return Number.isInteger(size) && size > 0 ? size : undefined
}

export function clock(): Promise<ClockFacts> {
  return readClock(host(), runProgram)
}

export function timeZones(): Promise<readonly string[] | undefined> {
  return readTimeZones()
}

export function ssh(): Promise<SshFacts> {
  return readSsh(host(), runProgram)
}

export function cipherSuites(): Promise<readonly CipherSuite[] | undefined> {
  return readCipherSuites(runProgram)
}

export function haproxy(): Promise<HaproxyFacts | undefined> {
  const { layer7proxy }: HostSettings = workerData
  return readHaproxy(layer7proxy.mode === 'supervised' ? layer7proxy.program : 'haproxy', runProgram)
}

export function packages(): Promise<PackageFacts | undefined> {
  return readPackages(runProgram)
}

export function updateGround(): Promise<UpdateGround> {
  return readUpdateGround(runProgram)
}

export function volume(): Promise<VolumeFacts> {
  return readVolume(runProgram)
}

export function etcd(): Promise<string | undefined> {
  const settings: HostSettings = workerData
  return readEtcdVersion(settings)
}

export function sessions({
  statsSocket,
  frontends,
}: {
  readonly statsSocket: string
  readonly frontends: readonly string[]
}): Promise<OpenSessions> {
  return readSessions(statsSocket, frontends)
}

export function healthCheck(trial: CheckTrial): Promise<CheckTried> {
  const { stateFolder }: HostSettings = workerData
  return runHealthCheck(trial, `${stateFolder}/health-check-trials`, runProgram)
}

export function script(called: ScriptRun): Promise<ScriptRan> {
  const { stateFolder }: HostSettings = workerData
  return runScript(called, `${stateFolder}/health-check-trials`, runProgram)
}
