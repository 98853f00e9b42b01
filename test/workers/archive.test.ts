import { once } from 'node:events'
import t from 'tap'
import { checkArchiveDirectory } from '../../storage/archive/check.ts'
import type { FromArchiveThread } from '../../workers/archive/messages.ts'
import { startArchives } from '../../src/stats/start-archives.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { listen, STATS } from './archive/socket-fixture.ts'

t.test('the thread starts, serves and ends on request', async (t) => {
  const [layer7, layer4] = [temporaryFolder(t), temporaryFolder(t)]
  const path = await listen(t, () => `Pid: 5\nUptime_sec: 900\n\n${STATS}`)
  const worker = startArchives({
    layer7: { directory: layer7, source: { kind: 'stats-socket', path } },
    layer4: { directory: layer4, source: { kind: 'ipvs', fd: undefined } },
  })
  const told: string[] = []
  const answers: FromArchiveThread[] = []
  const exited = once(worker, 'exit')
  worker.on('message', (message: FromArchiveThread) => {
    if (message.type === 'done') {
      answers.push(message)
      // A second answer to the check would come before the one to the capture.
      if (answers.length === 2) worker.postMessage({ type: 'stop' })
      return
    }
    const { type } = message.message
    told.push(`${message.type} ${type}`)
    if (type === 'ready') worker.postMessage({ type: 'clockStepped' })
    if (type !== 'tick' || told.filter((each) => each === 'layer7 tick').length > 1) return
    worker.postMessage({ type: 'check', request: 1 })
    worker.postMessage({ type: 'capture', request: 2 })
  })
  const [code] = await exited
  t.equal(code, 0)
  t.strictSame(told.slice(0, 2), ['layer7 ready', 'layer4 ready'])
  const answered = (request: number) => ({ type: 'done', request, problems: [] })
  t.strictSame(answers, [answered(1), answered(2)], 'one answer each, whatever archives there are')
  for (const directory of [layer7, layer4]) t.strictSame(await checkArchiveDirectory(directory), [])
})
