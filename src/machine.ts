import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import type { HostSettings } from '../workers/host/host-settings.ts'
import type { PlanExecutor } from './config/enactor.ts'
import type { Driver, Step } from './drivers/driver.ts'
import { DEBIAN_PATHS, SOCKET_PATH_MAX, supervisedPaths } from './drivers/haproxy/paths.ts'
import { createDrivers } from './drivers/index.ts'
import { keepForeignConfig } from './foreign-config.ts'
import { type Settings, SettingsError } from './settings.ts'
import type { MachineFacts } from './model/machine-facts.ts'
import { machineFacts } from './machine-facts.ts'
import { UPLOADS_MAX, uploadsFolder } from './updates/uploads.ts'
import type { UploadedPackage } from './api/machine-lifecycle.ts'
import { checkPool, type ComputePool, computePool, intakePool, probePool, systemPool } from './worker-pool.ts'

/** The machine behind the daemon: what is rendered for it and what executes. */
export interface Machine {
  drivers(nodeId: string): readonly Driver[]
  readonly executor: FiguresExecutor
  /** Master socket of the managed HAProxy; undefined when none is managed. */
  readonly masterSocket: string | undefined
  /** Socket of its workers. */
  readonly statsSocket: string | undefined
  readonly touchesPackages: boolean
  readonly facts: MachineFacts
  readonly compute: ComputePool
  /** Checks an uploaded .deb file, given as base64, and keeps it in the state folder. */
  keepPackage(text: string): Promise<UploadedPackage | { readonly problem: string }>
  /** Ends what the daemon supervises itself (nothing on an appliance). */
  stopSupervised(): Promise<void>
  close(): Promise<void>
}

/** `capture` reads what was counted before a step takes it away. It never rejects. */
export interface FiguresExecutor extends PlanExecutor {
  execute(steps: readonly Step[], capture?: () => Promise<void>): ReturnType<PlanExecutor['execute']>
}

const endsCounting = (step: Step): boolean =>
  step.kind === 'socket' && step.commands.some((command) => command.endsCounting === true)

const STOP_TIMEOUT_MS = 10_000

/** Of a daemon that only observes: nothing is rendered, so there is nothing to execute. */
function untouchedMachine({ profile, state }: Settings): Machine {
  // Reads do not need HAProxy.
  const layer7proxy = { mode: 'systemd', unit: 'haproxy.service', masterSocket: '' } as const
  const host: HostSettings = { profile, stateFolder: state, layer7proxy }
  const probes = probePool(host)
  const checks = checkPool(host)
  const compute = computePool()
  const nothing = async (steps: readonly unknown[]) => {
    if (steps.length > 0) throw new Error('an observer has no plan to carry out')
    return { ok: true, done: 0, recorded: 0, warnings: [] } as const
  }
  return {
    drivers: () => [],
    executor: { execute: nothing, check: nothing },
    masterSocket: undefined,
    statsSocket: undefined,
    touchesPackages: false,
    facts: machineFacts(probes, checks),
    compute,
    keepPackage: async () => ({ problem: 'is not kept by a daemon that only observes' }),
    stopSupervised: async () => undefined,
    async close() {
      await Promise.all([probes.close(), checks.close(), compute.close()])
    },
  }
}

/** The machine of each profile: Debian's own service on an appliance, a supervised HAProxy under the state folder in trial. */
export function createMachine(settings: Settings): Machine {
  if (settings.observe !== undefined) return untouchedMachine(settings)
  const { profile, state } = settings
  const supervised = profile === 'trial'
  const folder = join(state, 'haproxy')
  const haproxy = supervised ? supervisedPaths(folder) : DEBIAN_PATHS
  if (supervised) {
    if (!/^[\w./@+=~-]+$/.test(state)) {
      throw new SettingsError(
        `--state ${state}: use letters, digits and . / @ + = ~ - _ only; HAProxy reads the others`,
      )
    }
    if (haproxy.masterSocket.length > SOCKET_PATH_MAX) {
      const spare = SOCKET_PATH_MAX - (haproxy.masterSocket.length - state.length)
      throw new SettingsError(`--state ${state}: too long for the sockets inside; use at most ${spare} characters`)
    }
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }
  const { program, configFile, masterSocket } = haproxy
  const layer7proxy: HostSettings['layer7proxy'] = supervised
    ? { mode: 'supervised', program, configFile, masterSocket, folder }
    : { mode: 'systemd', unit: 'haproxy.service', masterSocket }
  const host: HostSettings = { profile, stateFolder: state, layer7proxy }
  const pool = systemPool(host)
  const probes = probePool(host)
  const checks = checkPool(host)
  const compute = computePool()
  const intake = intakePool()
  return {
    drivers: (nodeId) => createDrivers({ haproxy, stateFolder: state }, nodeId),
    executor: {
      async execute(steps, capture) {
        const isReplaced = steps.some((step) => step.kind === 'replaceFile' && step.path === configFile)
        if (!supervised && isReplaced) keepForeignConfig(configFile, state)
        if (capture === undefined || !steps.some(endsCounting)) return pool.run('executePlan', { steps })
        const { port1, port2 } = new MessageChannel()
        port1.on('message', () => void capture().finally(() => port1.postMessage('captured')))
        return pool.run('executePlan', { steps, figures: port2 }, [port2]).finally(() => port1.close())
      },
      check: (steps) => pool.run('checkPlan', { steps }),
    },
    masterSocket,
    statsSocket: haproxy.statsSocket,
    touchesPackages: !supervised,
    facts: machineFacts(probes, checks),
    compute,
    keepPackage: (text) => intake.run('keepPackage', { text, folder: uploadsFolder(state), files_max: UPLOADS_MAX }),
    async stopSupervised() {
      if (!supervised) return
      const common = { undo: 'none', whenUnchanged: 'act', timeout_ms: STOP_TIMEOUT_MS } as const
      const why = 'stop the supervised HAProxy'
      await pool.run('executePlan', { steps: [{ kind: 'unit', unit: 'layer7proxy', verb: 'stop', why, ...common }] })
    },
    async close() {
      await Promise.all([pool.close(), probes.close(), checks.close(), compute.close(), intake.close()])
    },
  }
}
