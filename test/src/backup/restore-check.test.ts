import { replacements } from '../../../src/config/whole.ts'
import t, { type Test } from 'tap'
import { createRestoreChecks, restoreCheck } from '../../../src/backup/restore-check.ts'
import { restoredWith } from '../../../src/config/restored-nodes.ts'
import { ApiError } from '../../../src/base/errors.ts'
import type { JobNews } from '../../../src/jobs/jobs.ts'
import { configFixture, realServer, refusalOf } from '../../fixtures/config.ts'

function fixture(test: Test, validate: () => Promise<void>) {
  const { store, editing, edit } = configFixture(test)
  const news: JobNews[] = []
  const job = {
    id: 'j',
    signal: new AbortController().signal,
    ending: new AbortController().signal,
    report: (one: JobNews) => void news.push(one),
  }
  const kind = restoreCheck({ store, editing, engine: { validate } })
  return {
    edit,
    news,
    work: () => kind.work(job, { file: 'f', warnings: ['w'], wanted: 'n', others: [] }),
    resume: kind.resume,
  }
}

t.test('the candidate is checked once the request that restores is written', async (test) => {
  let validated = 0
  const { edit, work } = fixture(test, async () => void (validated += 1))
  const edited = edit((draft) =>
    draft.rewrite(replacements(draft.view, { realServers: [realServer('a'), realServer('b')] })),
  )
  test.match(await work(), { file: 'f', changes: 2, warnings: ['w'], next: /confirmWithin/ })
  test.equal(validated, 1)
  await edited
})

t.test('what the check finds stands in the log of the job', async (test) => {
  const { news, work, resume } = fixture(test, async () => {
    throw new ApiError('CONFIG_INVALID', 'no', {
      errors: [{ field: 'l7Frontends.fe', code: 'X', message: 'is wrong' }],
    })
  })
  test.equal((await refusalOf(work())).code, 'CONFIG_INVALID')
  test.same(news.at(-1), { log: ['l7Frontends.fe: is wrong'] })
  test.ok(resume, 'a restart of the daemon checks again')
})

t.test('a restore that is refused leaves what is remembered of the nodes of another one', async (test) => {
  const { store, editing } = configFixture(test)
  const busy = new ApiError('JOB_IN_PROGRESS', 'another one is checked')
  const refusals = [undefined, busy]
  const start = async () => {
    const refused = refusals.shift()
    if (refused !== undefined) throw refused
    return { id: 'j' }
  }
  const checks = createRestoreChecks({
    store,
    editing,
    engine: { validate: async () => undefined },
    jobs: { start } as never,
  })
  const restored = (id: string) => ({ file: 'f', warnings: [], wanted: 'n', others: [{ id, hostname: id }] })
  await checks.start(restored('a'), 'tester')
  test.equal((await refusalOf(checks.start(restored('b'), 'tester'))).code, 'JOB_IN_PROGRESS')
  test.match(restoredWith(store, 'n'), [{ id: 'a' }])
})
