import { replacements } from '../../../src/config/whole.ts'
import t, { type Test } from 'tap'
import { createRestoreChecks, restoreCheck } from '../../../src/backup/restore-check.ts'
import { restoredWith } from '../../../src/config/restored-nodes.ts'
import { ApiError } from '../../../src/base/errors.ts'
import type { JobNews, Jobs } from '../../../src/jobs/jobs.ts'
import { configFixture, realServer, refusalOf } from '../../fixtures/config.ts'

function fixture(test: Test, validate: () => Promise<void>) {
  const { store, edit } = configFixture(test)
  const news: JobNews[] = []
  const job = {
    id: 'j',
    signal: new AbortController().signal,
    ending: new AbortController().signal,
    report: (one: JobNews) => void news.push(one),
  }
  const kind = restoreCheck({ store, engine: { validate } })
  return {
    edit,
    news,
    work: () => kind.work(job, { file: 'f', warnings: ['w'], wanted: 'n', others: [] }),
    resume: kind.resume,
  }
}

t.test('the candidate is checked', async (test) => {
  let validated = 0
  const { edit, work } = fixture(test, async () => void (validated += 1))
  await edit((draft) => draft.rewrite(replacements(draft.view, { realServers: [realServer('a'), realServer('b')] })))
  test.match(await work(), { file: 'f', changes: 2, warnings: ['w'], next: /confirmWithin/ })
  test.equal(validated, 1)
})

t.test('the findings of the check are in the log of the job', async (test) => {
  const { news, work, resume } = fixture(test, async () => {
    throw new ApiError('CONFIG_INVALID', 'no', {
      errors: [{ field: 'l7Frontends.fe', code: 'X', message: 'is wrong' }],
    })
  })
  test.equal((await refusalOf(work())).code, 'CONFIG_INVALID')
  test.same(news.at(-1), { log: ['l7Frontends.fe: is wrong'] })
  test.ok(resume, 'a restart of the daemon checks again')
})

t.test('a refused restore leaves the notes of an earlier one about its nodes', async (test) => {
  const { store } = configFixture(test)
  const started: unknown[] = []
  const jobs = {
    refuseBeside: (group: string) => {
      if (started.length > 0) throw new ApiError('JOB_IN_PROGRESS', `another one of ${group}`)
    },
    start: async (...[, , , about]: Parameters<Jobs['start']>) => void started.push(about?.id),
  }
  const checks = createRestoreChecks({ store, engine: { validate: async () => undefined }, jobs: jobs as never })
  const restored = (id: string) => ({ file: 'f', warnings: [], wanted: 'n', others: [{ id, hostname: id }] })
  const { job, start } = await checks.prepare(restored('a'), 'tester')
  test.same(started, [], 'not before the restore is staged')
  await start()
  test.same(started, [job])
  test.equal((await refusalOf(checks.prepare(restored('b'), 'tester'))).code, 'JOB_IN_PROGRESS')
  test.match(restoredWith(store, 'n'), [{ id: 'a' }])
})
