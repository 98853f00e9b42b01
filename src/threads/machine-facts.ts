import type { CheckTrial, CipherSuite, MachineFacts, ScriptRun } from '../model/machine-facts.ts'
import { type ProbePool, withTasks } from './worker-pool.ts'

/**
 * The facts about the machine, from a probe worker: each is the task of the same name, except those listed here. Health
 * checks, which may hang, have their own workers.
 */
export function machineFacts(pool: ProbePool, checks: ProbePool): MachineFacts {
  let zones: readonly string[] | undefined
  let suites: readonly CipherSuite[] | undefined
  return withTasks(pool, {
    ping: (from: string, to: string) => pool.run('ping', { from, to }),
    connections: (client: string, port: number) => pool.run('connections', { client, port }),
    timeZones: async () => (zones ??= await pool.run('timeZones', undefined)),
    cipherSuites: async () => (suites ??= await pool.run('cipherSuites', undefined)),
    sessions: (statsSocket: string, frontends: readonly string[]) => pool.run('sessions', { statsSocket, frontends }),
    tryCheck: (trial: CheckTrial) => checks.run('healthCheck', trial),
    runScript: (script: ScriptRun) => checks.run('script', script),
  })
}
