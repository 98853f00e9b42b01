import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createAppliance } from '../src/appliance.ts'
import { type MachineClock, systemClock } from '../src/clock.ts'
import type { Appliance } from '../src/running-appliance.ts'
import type { Machine } from '../src/machine.ts'
import { supervisedPaths } from '../src/drivers/haproxy/paths.ts'
import { createDrivers } from '../src/drivers/index.ts'
import type { Answer } from '../src/http/envelope.ts'
import { silentLog } from '../src/log.ts'
import type { MachineFacts } from '../src/model/machine-facts.ts'
import type { Settings } from '../src/settings.ts'
import { InlinePool } from '../src/worker-pool.ts'
import * as computeTasks from '../workers/compute.ts'
import { checkPlan, executePlan } from '../workers/executor.ts'
import { runProgram } from '../workers/host/linux-host.ts'
import { RecordingHost } from '../workers/host/recording-host.ts'
import { keepPackage } from '../workers/uploaded-package.ts'
import { temporaryFolder } from './config-fixture.ts'

export const ADMIN = { email: 'admin@localhost', password: 'correct horse battery' }

export function testSettings(state: string, more: Partial<Settings> = {}): Settings {
  return {
    profile: 'trial',
    state,
    listen: { host: '127.0.0.1', port: 0 },
    http: undefined,
    observe: undefined,
    demo: false,
    check: false,
    repair: false,
    auditDays: 90,
    administrator: ADMIN,
    notify: { NOTIFY_SOCKET: undefined, WATCHDOG_USEC: undefined },
    genetlink: undefined,
    ...more,
  }
}

export const ETH0 = 'aaaaaaaa-0000-5000-8000-000000000001'
export const ETH1 = 'aaaaaaaa-0000-5000-8000-000000000002'

const GIBIBYTE = 2 ** 30

/** A machine of which nothing moves: two interfaces, the first with 192.0.2.5/24. */
export function stillFacts(more: Partial<MachineFacts> = {}): MachineFacts {
  const card = { mac: '02:00:00:00:00:01', mtu: 1500, state: 'up' } as const
  return {
    interfaces: async () => [
      { ...card, id: ETH0, name: 'eth0', addresses: [{ ip: '192.0.2.5', prefix: 24 }] },
      { ...card, id: ETH1, name: 'eth1', addresses: [] },
    ],
    ping: async () => ({ ok: false, sent: 1, received: 0, roundTrip_ms: null, reason: '100% packet loss' }),
    connections: async () => [],
    consoleEnabled: async () => false,
    conntrackSize: async () => 262_144,
    clock: async () => ({ timezone: 'Etc/UTC', ntpEnabled: false, tracking: undefined }),
    timeZones: async () => ['America/Argentina/Salta', 'Etc/UTC', 'Europe/Paris', 'UTC'],
    ssh: async () => ({ enabled: true, port: 22 }),
    cipherSuites: async () => [
      { name: 'TLS_AES_256_GCM_SHA384', isTls13: true },
      { name: 'TLS_AES_128_GCM_SHA256', isTls13: true },
      { name: 'ECDHE-ECDSA-AES128-GCM-SHA256', isTls13: false },
      { name: 'ECDHE-RSA-AES128-GCM-SHA256', isTls13: false },
    ],
    packages: async () => ({ pending: [], problem: undefined }),
    packagesStamp: async () => 'unchanged',
    updateGround: async () => ({ lockedFile: undefined, download_bytes: 0, free: [], sources: [] }),
    restartRequired: async () => false,
    volume: async () => ({
      isSupported: true,
      volume: { group: 'vg0', name: 'root', size_bytes: 8 * GIBIBYTE, free_bytes: 2 * GIBIBYTE, extent_bytes: 4 << 20 },
      snapshot: undefined,
    }),
    sessions: async () => 0,
    persistence: async () => ({ templates: [], moved: [] }),
    tryCheck: async () => ({ exitCode: 1, durationMs: 5, output: 'refused', up: false }),
    ...more,
  }
}

/** A machine that only records what would be done to it. */
export function recordingMachine(state: string): Machine & { readonly host: RecordingHost } {
  const folder = join(state, 'haproxy')
  mkdirSync(folder, { recursive: true })
  const haproxy = supervisedPaths(folder)
  // Runtime commands find nobody; the engine then plans a reload, which is recorded.
  const host = new RecordingHost({ answerSocket: () => '' })
  return {
    host,
    drivers: (nodeId) => createDrivers({ haproxy, stateFolder: state }, nodeId),
    executor: { execute: (steps) => executePlan(host, steps), check: (steps) => checkPlan(host, steps) },
    masterSocket: haproxy.masterSocket,
    statsSocket: haproxy.statsSocket,
    touchesPackages: false,
    facts: stillFacts(),
    compute: new InlinePool(computeTasks),
    keepPackage: (text) => keepPackage({ text, folder: join(state, 'packages'), files_max: 8 }, runProgram),
    stopSupervised: async () => undefined,
    close: async () => undefined,
  }
}

export interface Sent {
  readonly token?: string
  readonly body?: unknown
  readonly raw?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  readonly address?: string
}
export interface Received {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every shape
  readonly json: any
}

export type Caller = (method: string, path: string, sent?: Sent) => Promise<Received>

/** Calls the API behind the socket. Paths are relative to /api/v1. */
export function caller(appliance: Pick<Appliance, 'inject'>, token?: string): Caller {
  return async (method, path, sent = {}) => {
    const [pathname = '', query = ''] = path.split('?', 2)
    const raw = sent.raw ?? (sent.body === undefined ? '' : JSON.stringify(sent.body))
    const bytes = typeof raw === 'string' ? Buffer.from(raw) : raw
    const bearer = sent.token ?? token
    const headers: Record<string, string> = {
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(bytes.length > 0 ? { 'content-type': 'application/json' } : {}),
      ...sent.headers,
    }
    const answer: Answer = await appliance.inject({
      method,
      path: `/api/v1${pathname}`,
      query,
      address: sent.address ?? '192.0.2.1',
      header: (name) => headers[name] ?? '',
      isAmbiguous: headers['content-length'] !== undefined && headers['transfer-encoding'] !== undefined,
      readBody: async (bytes_max) => (bytes.length > bytes_max ? undefined : bytes),
    })
    return received(answer)
  }
}

function received(answer: Answer): Received {
  const text = typeof answer.body === 'string' ? answer.body : Buffer.from(answer.body).toString()
  let json: unknown
  if (answer.contentType.startsWith('application/json') && text !== '') json = JSON.parse(text)
  return { status: answer.status, headers: { ...answer.headers, 'content-type': answer.contentType }, text, json }
}

/** A daemon on a recording machine, with its administrator logged in. */
export async function applianceFixture(
  test: Test,
  more: Partial<Settings> = {},
  machineMore: Partial<Machine> = {},
  clock: MachineClock = systemClock,
) {
  const state = temporaryFolder(test, 'appliance')
  const machine = { ...recordingMachine(state), ...machineMore }
  const appliance = await createAppliance(testSettings(state, more), machine, silentLog, clock)
  test.teardown(() => appliance.close())
  const anonymous = caller(appliance)
  const login = async (email: string, password: string) => {
    const { json } = await anonymous('POST', '/token', { body: { email, password } })
    return String(json.data.token)
  }
  const token = await login(ADMIN.email, ADMIN.password)
  return { appliance, machine, state, anonymous, login, token, call: caller(appliance, token), node: appliance.nodeId }
}
