import type { CipherSuite, MachineFacts } from './model/machine-facts.ts'
import type { ProbePool } from './worker-pool.ts'

/** The machine as a probe worker reads it; health checks, which may hang, have workers of their own. */
export function machineFacts(pool: ProbePool, checks: ProbePool): MachineFacts {
  let zones: readonly string[] | undefined
  let suites: readonly CipherSuite[] | undefined
  return {
    interfaces: () => pool.run('interfaces', undefined),
    ping: (from, to) => pool.run('ping', { from, to }),
    connections: (client, port) => pool.run('connections', { client, port }),
    persistence: (marks) => pool.run('persistence', marks),
    consoleEnabled: () => pool.run('consoleEnabled', undefined),
    conntrackSize: () => pool.run('conntrackSize', undefined),
    clock: () => pool.run('clock', undefined),
    timeZones: async () => (zones ??= await pool.run('timeZones', undefined)),
    ssh: () => pool.run('ssh', undefined),
    cipherSuites: async () => (suites ??= await pool.run('cipherSuites', undefined)),
    packages: () => pool.run('packages', undefined),
    packagesStamp: () => pool.run('packagesAge', undefined),
    updateGround: () => pool.run('updateGround', undefined),
    restartRequired: () => pool.run('restartRequired', undefined),
    volume: () => pool.run('volume', undefined),
    sessions: (statsSocket, frontends) => pool.run('sessions', { statsSocket, frontends }),
    tryCheck: (trial) => checks.run('healthCheck', trial),
  }
}
