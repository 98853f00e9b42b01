import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { LogStore } from '../../../storage/logs/store.ts'
import type { FromLogThread } from '../../../workers/logs/messages.ts'
import { LogThread } from '../../../workers/logs/thread.ts'
import { logFolder, logRow, NO_LOSSES } from '../../fixtures/log-rows.ts'

const LIMITS = { bytes_max: 1_000_000, age_ms: 1_000_000_000_000_000 }

async function asked(thread: LogThread, told: FromLogThread[], type: 'search' | 'top'): Promise<FromLogThread> {
  const before = told.length
  thread.receive({ type, request: 9, filter: {}, limit: 10, after: undefined })
  await thread.stop()
  const answer = told.slice(before).find((message) => message.type !== 'warning')
  if (answer === undefined) throw new Error('there is no answer')
  return answer
}

t.test('searches are answered from what is kept, before it ends', async (test) => {
  const directory = logFolder(test)
  const store = new LogStore(directory, LIMITS)
  store.append([logRow({ path: '/a?b' }), logRow({ path: '/a?c', status: 404 })], {})
  store.close()
  for (const type of ['search', 'top'] as const) {
    const told: FromLogThread[] = []
    const thread = new LogThread({ directory, limits: LIMITS, source: undefined }, (message) => told.push(message))
    const answer = await asked(thread, told, type)
    const losses = NO_LOSSES
    if (type === 'search') test.match(answer, { type: 'page', request: 9, answer: { isMore: false, losses } })
    else test.match(answer, { answer: { rows: 2, paths: [['/a', 2]], sources: [['192.0.2.7', 2]], losses } })
  }
})

t.test('what was counted is told', async (test) => {
  const directory = logFolder(test)
  const store = new LogStore(directory, LIMITS)
  store.append([logRow({ path: '/kept before' })], {})
  const { bytes } = store
  store.close()
  const counts = await new Promise((resolve) => {
    const thread = new LogThread({ directory, limits: LIMITS, source: undefined }, (message) => {
      if (message.type === 'counts') void thread.stop().then(() => resolve(message.counts))
    })
    thread.run()
  })
  test.same(counts, { lines: 0, bytes, losses: NO_LOSSES }, 'since the thread began')
})

t.test('what is damaged is told, and the rest is answered', async (test) => {
  const directory = logFolder(test)
  writeFileSync(join(directory, '000000000001.segment'), 'nothing')
  const told: FromLogThread[] = []
  const thread = new LogThread({ directory, limits: LIMITS, source: undefined }, (message) => told.push(message))
  test.match(await asked(thread, told, 'search'), { answer: { rows: [] } })
  test.match(told, [{ type: 'warning', message: 'a part of the access log is damaged and left out' }, {}])
  rmSync(join(directory, '000000000001.segment'))
})
