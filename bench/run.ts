/**
 * `npm run bench [-- [--smoke] NAME…]`: runs all benchmarks, or those named. Prints Markdown for docs/benchmarks.md.
 * `guard` compares with the last release, and runs only if named.
 */
import { run as alerts } from './alerts.ts'
import { run as archive } from './archive.ts'
import { run as backup } from './backup.ts'
import { run as busy } from './busy.ts'
import { run as cluster } from './cluster.ts'
import { run as config } from './config.ts'
import { run as connections } from './connections.ts'
import { run as documents } from './documents.ts'
import { environment } from './environment.ts'
import { run as failover } from './failover.ts'
import { run as fleet } from './fleet.ts'
import { run as forwarding } from './forwarding.ts'
import { run as fronts } from './fronts.ts'
import { run as guard } from './guard.ts'
import { run as http } from './http.ts'
import { run as interference } from './interference.ts'
import { run as layer4Apply } from './l4-apply.ts'
import { run as layer4 } from './l4-stats.ts'
import { run as logs } from './logs.ts'
import { run as metrics } from './metrics.ts'
import { run as node } from './node.ts'
import { run as pageOpen } from './page-open.ts'
import { run as page } from './page.ts'
import { run as peers } from './peers/index.ts'
import { run as realHaproxy } from './real-haproxy.ts'
import { run as rules } from './rules.ts'
import { run as snmp } from './snmp.ts'
import { run as start } from './start.ts'
import { run as streams } from './streams.ts'
import { run as takeover } from './takeover.ts'
import { run as witness } from './witness.ts'

const BENCHMARKS: Readonly<Record<string, () => Promise<void>>> = {
  guard,
  http,
  connections,
  fronts,
  forwarding,
  interference,
  documents,
  config,
  cluster,
  failover,
  busy,
  takeover,
  witness,
  start,
  archive,
  alerts,
  logs,
  node,
  backup,
  rules,
  snmp,
  metrics,
  streams,
  fleet,
  page,
  'page-open': pageOpen,
  'l4-apply': layer4Apply,
  'l4-stats': layer4,
  peers,
  'real-haproxy': realHaproxy,
}

const names = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const unknown = names.filter((name) => !Object.hasOwn(BENCHMARKS, name))
if (unknown.length > 0) {
  console.error(`no benchmark ${unknown.join(', ')}; there are ${Object.keys(BENCHMARKS).join(', ')}`)
  process.exitCode = 2
} else {
  console.log(await environment())
  for (const name of names.length === 0 ? Object.keys(BENCHMARKS).filter((each) => each !== 'guard') : names)
    await BENCHMARKS[name]?.()
}
