/**
 * A server in a separate process whose HAProxy has the number of objects given by its argument, with different figures
 * each second. It serves live answers of a frontend, and the metrics.
 */
import { silentLog } from '../src/base/log.ts'
import { metricsOnly } from '../src/http/metrics-only.ts'
import { negotiate, wantedOf } from '../src/http/prepared.ts'
import { listen, requestIds } from '../src/http/server.ts'
import { LiveAnswers } from '../src/stats/live.ts'
import { tickOf } from '../test/fixtures/live-tick.ts'
import { Farm } from './farm.ts'
import { metricsOf } from './metrics-of.ts'

const [objects = '', port = ''] = process.argv.slice(2)
const farm = new Farm(Number(objects))
const live = new LiveAnswers(farm.names, 'bench')
/** With many objects, a few seconds repeat: generating them anew would dominate the measurement. */
const seconds = farm.rows.length > 1_000 ? Array.from({ length: 4 }, () => farm.csv()) : undefined
const [frontend] = farm.names.frontends()

const metrics = metricsOnly(metricsOf({ live, names: farm.names }), silentLog)
// The scan belongs to the archive thread, so it is done before the measurement.
const ticks = seconds?.map((csv) => tickOf(csv))
let sequence = 0
const tick = () => live.update({ ...(ticks?.[sequence % ticks.length] ?? tickOf(farm.csv())), sequence: ++sequence })
tick()
setInterval(tick, 1_000)
const view = { kind: 'frontend', id: frontend?.id ?? '' } as const
await listen(
  { host: '127.0.0.1', port: Number(port) },
  undefined,
  (incoming, id) => {
    if (incoming.path === '/metrics') return metrics(incoming, id)
    return negotiate(live.render(view) ?? { body: '' }, wantedOf(incoming))
  },
  requestIds('bench'),
)
console.log('ready')
