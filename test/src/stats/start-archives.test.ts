import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { type ArchiveWorker, startArchivesEarly } from '../../../src/stats/start-archives.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const ENTRY = new URL('../../../workers/archive.ts', import.meta.url)

function optionsOf(test: Test) {
  const directory = temporaryFolder(test)
  return { layer7: { directory, source: { kind: 'stats-socket', path: `${directory}/none` } } } as const
}

/** Resolves when its archive is open and closed again. */
async function opensAndEnds(worker: ArchiveWorker) {
  const said = new Promise((resolve) => worker.once('message', resolve))
  const ended = new Promise((resolve) => worker.once('exit', resolve))
  t.match(await said, { type: 'layer7', message: { type: 'ready' } })
  worker.postMessage({ type: 'stop' })
  t.equal(await ended, 0)
}

t.test('a thread that was started early belongs to the first caller that starts the archives', async (t) => {
  const early = new Worker(ENTRY)
  const start = startArchivesEarly(early)
  const first = start(optionsOf(t))
  t.equal(first, early)
  const second = start(optionsOf(t))
  t.not(second, early)
  await Promise.all([first, second].map(opensAndEnds))
})

t.test('a thread that has failed meanwhile is replaced by another', async (t) => {
  const early = new Worker('throw new Error("no memory")', { eval: true })
  const start = startArchivesEarly(early)
  await new Promise((resolve) => early.once('exit', resolve))
  const worker = start(optionsOf(t))
  t.not(worker, early)
  await opensAndEnds(worker)
})
