import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import { type ClusterLogParts, keepHalt } from '../../../src/cluster/cluster-log-parts.ts'

t.test('the reason of a halt is stored where possible; where it cannot be stored, that is reported', async (t) => {
  const [kept, said]: [string[], string[]] = [[], []]
  const log = { ...silentLog, error: (message: string) => void said.push(message) }
  const keeping = (keep?: (why: string) => Promise<void>) => {
    const keptHalt = keep && { why: undefined, keep }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of it is asked for
    return keepHalt({ log, keptHalt } as unknown as ClusterLogParts, 'it differs')
  }
  await keeping()
  await keeping(async (why) => void kept.push(why))
  t.same([kept, said], [['it differs'], []])
  await keeping(() => Promise.reject(new Error('no room')))
  t.same(said, ['a restart of the daemon would follow the cluster again'])
})
