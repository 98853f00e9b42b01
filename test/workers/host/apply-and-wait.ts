/** A process that starts HAProxy like the daemon and then waits to be killed. Argument: JSON of settings and steps. */
import type { Step } from '../../../src/drivers/driver.ts'
import { sentPlan } from '../../../src/drivers/sent-plan.ts'
import { systemPool } from '../../../src/threads/worker-pool.ts'
import type { HostSettings } from '../../../workers/host/host-settings.ts'

const { settings, steps }: { readonly settings: HostSettings; readonly steps: readonly Step[] } = JSON.parse(
  process.argv[2] ?? '',
)
const result = await systemPool(settings).run('executePlan', { plan: await sentPlan(steps) })
process.stdout.write(`${JSON.stringify(result)}\n`)
setInterval(() => undefined, 60_000)
