import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { checkArchiveDirectory } from '../../storage/archive/check.ts'
import type { ArchivesOptions, LayerMessage } from '../../workers/archive/messages.ts'
import { temporaryFolder } from '../storage/temporary-archive.ts'
import { listen, STATS } from './archive/socket-fixture.ts'

t.test('the thread starts, serves and ends when told', async (t) => {
  const directory = temporaryFolder(t)
  const path = await listen(t, () => `Pid: 5\nUptime_sec: 900\n\n${STATS}`)
  const worker = new Worker(new URL('../../workers/archive.ts', import.meta.url), {
    workerData: { layer7: { directory, source: { kind: 'stats-socket', path } } } satisfies ArchivesOptions,
  })
  const types: string[] = []
  const exited = once(worker, 'exit')
  worker.on('message', ({ layer, message: { type } }: LayerMessage) => {
    t.equal(layer, 'layer7')
    types.push(type)
    if (type === 'ready') worker.postMessage({ type: 'clockStepped' })
    if (type === 'tick' && !types.includes('done')) worker.postMessage({ type: 'check', request: 1 })
    if (type === 'done') worker.postMessage({ type: 'stop' })
  })
  const [code] = await exited
  t.equal(code, 0)
  t.strictSame([types[0], types.at(-1)], ['ready', 'stopped'])
  t.strictSame(await checkArchiveDirectory(directory), [])
})
