import type { MachineFacts } from './model/machine-facts.ts'
import type { ProbePool } from './worker-pool.ts'

/** The machine as a probe worker reads it. */
export function machineFacts(pool: ProbePool): MachineFacts {
  return {
    interfaces: () => pool.run('interfaces', undefined),
    ping: (from, to) => pool.run('ping', { from, to }),
    consoleEnabled: () => pool.run('consoleEnabled', undefined),
    conntrackSize: () => pool.run('conntrackSize', undefined),
    clock: () => pool.run('clock', undefined),
    ssh: () => pool.run('ssh', undefined),
  }
}
