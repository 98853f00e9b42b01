import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import type { HostSettings } from '../../workers/host/host-settings.ts'
import type { PlanExecutor } from '../config/enactor.ts'
import type { Driver, Step } from '../drivers/driver.ts'
import { debianPaths, SOCKET_PATH_MAX, supervisedPaths } from '../drivers/haproxy/paths.ts'
import type { HaproxySurroundings } from '../drivers/haproxy/driver.ts'
import { clusterFolder } from '../drivers/etcd-file.ts'
import { createDrivers } from '../drivers/index.ts'
import { readNameServers } from './name-servers.ts'
import { PROGRAMS } from '../drivers/programs.ts'
import { sentPlan } from '../drivers/sent-plan.ts'
import { type Settings, SettingsError } from '../settings.ts'
import type { MachineFacts } from '../model/machine-facts.ts'
import { machineFacts } from '../threads/machine-facts.ts'
import { UPLOADS_MAX, uploadsFolder } from './updates/uploads.ts'
import type { UploadedPackage } from '../context/machine-care.ts'
import {
  type AcmePool,
  acmePool,
  type AlertPool,
  alertPool,
  checkPool,
  type ComputePool,
  computePool,
  intakePool,
  type ExpositionPool,
  expositionPool,
  probePool,
  systemPool,
} from '../threads/worker-pool.ts'
import type { StartArchives } from '../stats/start-archives.ts'

/** The machine behind the daemon: its drivers, and the executors of their plans. */
export interface Machine {
  /** See `createDrivers`. */
  drivers(nodeId: string, nodeIds: () => readonly string[], surroundings?: () => HaproxySurroundings): readonly Driver[]
  /** Returns the name servers of the C library, in HAProxy's notation. */
  nameServers(): Promise<readonly string[]>
  readonly executor: FiguresExecutor
  /** Master socket of the managed HAProxy; undefined if none is managed. */
  readonly masterSocket: string | undefined
  /** Socket to which HAProxy forwards TLS-ALPN-01 handshakes of CAs. */
  readonly challengeSocket: string | undefined
  /** Statistics socket of its workers. */
  readonly statsSocket: string | undefined
  readonly touchesPackages: boolean
  readonly facts: MachineFacts
  readonly compute: ComputePool
  /** Compresses at a lower priority. */
  readonly exposition: ExpositionPool
  /** Talks to CAs. */
  readonly acme: AcmePool
  /** Sends messages to alert targets. */
  readonly alerts: AlertPool
  /** Starts the archives; in a thread of their own if absent. */
  readonly startArchives?: StartArchives
  /** Checks an uploaded .deb file, given as base64, and stores it in the state folder. */
  keepPackage(text: string): Promise<UploadedPackage | { readonly problem: string }>
  /**
   * Ends the programs that the daemon supervises itself (none on an appliance). Resolves with the reason if they did
   * not end.
   */
  stopSupervised(): Promise<string | undefined>
  close(): Promise<void>
}

/** `capture` reads counters before a step resets them. It never rejects. */
export interface FiguresExecutor extends PlanExecutor {
  execute(steps: readonly Step[], capture?: () => Promise<void>): ReturnType<PlanExecutor['execute']>
}

const STOP_TIMEOUT_MS = 10_000

/** For an observing daemon: nothing is rendered, so nothing is executed. */
function untouchedMachine({ profile, state }: Settings): Machine {
  // Readings do not need HAProxy.
  const layer7proxy = { mode: 'systemd', masterSocket: '' } as const
  const host: HostSettings = { profile, stateFolder: state, layer7proxy }
  const probes = probePool(host)
  const checks = checkPool(host)
  const compute = computePool()
  const exposition = expositionPool()
  const acme = acmePool()
  const alerts = alertPool()
  const nothing = async (steps: readonly unknown[]) => {
    if (steps.length > 0) throw new Error('a daemon in observe mode has no plan to carry out')
    return { ok: true, done: 0, recorded: 0, warnings: [] } as const
  }
  return {
    drivers: () => [],
    nameServers: readNameServers,
    executor: { execute: nothing, check: nothing },
    masterSocket: undefined,
    challengeSocket: undefined,
    statsSocket: undefined,
    touchesPackages: false,
    facts: machineFacts(probes, checks),
    compute,
    exposition,
    acme,
    alerts,
    keepPackage: async () => ({ problem: 'is not managed by a daemon in observe mode' }),
    stopSupervised: async () => undefined,
    async close() {
      await Promise.all([probes, checks, compute, exposition, acme, alerts].map((each) => each.close()))
    },
  }
}

/** Throws if the files of a trial's HAProxy cannot be in that state folder. */
export function assertTrialFolder(state: string): void {
  const { masterSocket } = supervisedPaths(haproxyFolder(state))
  if (!/^[\w./@+=~-]+$/.test(state)) {
    throw new SettingsError(
      `--state ${state}: use letters, digits and . / @ + = ~ - _ only; other characters have a meaning for HAProxy`,
    )
  }
  if (masterSocket.length > SOCKET_PATH_MAX) {
    const spare = SOCKET_PATH_MAX - (masterSocket.length - state.length)
    throw new SettingsError(`--state ${state}: too long for the sockets inside; use at most ${spare} characters`)
  }
}

const haproxyFolder = (state: string): string => join(state, 'haproxy')

/**
 * Creates the machine of a profile: Debian's own services on an appliance, a supervised HAProxy below the state folder
 * in trial.
 */
export function createMachine(settings: Settings): Machine {
  if (settings.observe !== undefined) return untouchedMachine(settings)
  const { profile, state } = settings
  const supervised = profile === 'trial'
  const folder = haproxyFolder(state)
  const haproxy = supervised ? supervisedPaths(folder) : debianPaths(state)
  if (supervised) {
    assertTrialFolder(state)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }
  const { program, configFile, masterSocket, stateFile } = haproxy
  const layer7proxy: HostSettings['layer7proxy'] = supervised
    ? { mode: 'supervised', program, configFile, masterSocket, folder }
    : { mode: 'systemd', masterSocket, carried: { configFile, stateFile } }
  const { beside, listen } = settings
  const driverPaths = { haproxy, stateFolder: state, loopback: beside?.loopback, apiPort: listen.port }
  const etcd = { program: settings.etcd, folder: clusterFolder(state) }
  const host: HostSettings = { profile, stateFolder: state, layer7proxy, ...(supervised ? { etcd } : {}) }
  const pool = systemPool(host)
  const probes = probePool(host)
  const checks = checkPool(host)
  const compute = computePool()
  const exposition = expositionPool()
  const acme = acmePool()
  const alerts = alertPool()
  const intake = intakePool()
  return {
    drivers: (...cluster) => createDrivers(driverPaths, ...cluster),
    nameServers: readNameServers,
    executor: {
      async execute(steps, capture) {
        const plan = await sentPlan(steps)
        if (capture === undefined) return await pool.run('executePlan', { plan })
        const { port1, port2 } = new MessageChannel()
        port1.on('message', () => void capture().finally(() => port1.postMessage('captured')))
        return await pool.run('executePlan', { plan, figures: port2 }, [port2]).finally(() => port1.close())
      },
      check: async (steps) => await pool.run('checkPlan', { plan: await sentPlan(steps) }),
    },
    masterSocket,
    challengeSocket: haproxy.challengeSocket,
    statsSocket: haproxy.statsSocket,
    touchesPackages: !supervised,
    facts: machineFacts(probes, checks),
    compute,
    exposition,
    acme,
    alerts,
    keepPackage: (text) => intake.run('keepPackage', { text, folder: uploadsFolder(state), files_max: UPLOADS_MAX }),
    async stopSupervised() {
      if (!supervised) return undefined
      const common = { undo: 'none', whenUnchanged: 'act', timeout_ms: STOP_TIMEOUT_MS } as const
      const steps = (['layer7proxy', 'etcd'] as const).map(
        (unit) =>
          ({
            kind: 'unit',
            unit,
            verb: 'stop',
            why: `stop the supervised ${PROGRAMS[unit].fullName}`,
            ...common,
          }) as const,
      )
      const stopped = await pool.run('executePlan', { plan: await sentPlan(steps) })
      return stopped.ok ? undefined : stopped.output
    },
    async close() {
      await Promise.all([pool, probes, checks, compute, exposition, acme, alerts, intake].map((each) => each.close()))
    },
  }
}
