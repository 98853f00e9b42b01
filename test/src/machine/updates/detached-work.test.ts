import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { JobNews } from '../../../../src/jobs/jobs.ts'
import { DetachedWork } from '../../../../src/machine/updates/detached-work.ts'
import { executePlan } from '../../../../workers/executor.ts'
import type { DetachedPlan, DetachedStep } from '../../../../workers/detached/plan.ts'
import { createHost } from '../../../../workers/host/create-host.ts'
import { refusalOf } from '../../../fixtures/config.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { untilHolds } from '../../../fixtures/until.ts'

const step = (script: string, more: object = {}): DetachedStep => ({
  kind: 'program',
  why: 'work',
  weight: 1,
  argv: ['sh', '-c', script],
  timeout_ms: 10_000,
  ...more,
})
const planOf = (...steps: readonly DetachedStep[]): DetachedPlan => ({ repair: [step('echo repaired')], steps })

function fixture(test: Test) {
  const state = temporaryFolder(test, 'work')
  const layer7proxy = { mode: 'systemd', masterSocket: '' } as const
  const host = createHost({ profile: 'appliance', stateFolder: state, layer7proxy })
  const open = () =>
    new DetachedWork({
      executor: { execute: (steps) => executePlan(host, steps) },
      stateFolder: state,
      environmentFile: join(state, 'proxy.env'),
    })
  const news: JobNews[] = []
  const job = { id: 'job-1', report: (one: JobNews) => void news.push(one) }
  const lines = () => news.flatMap(({ log = [] }) => log)
  return { state, open, job, news, lines }
}

t.test('a plan is carried out beside this process, and its output arrives as it is written', async (test) => {
  const { state, open, job, news, lines } = fixture(test)
  const work = open()
  await work.run(job, planOf(step('echo one'), step('echo "a 1"', { output: 'before' })))
  test.same(lines(), ['# work', 'one', '# work'])
  test.match(news.at(-1), { progress: 100 })
  test.equal(await work.output(job.id, 'before'), 'a 1\n')
  test.equal(await work.output(job.id, 'gone'), '')
  await work.run(job, planOf(step('exit 1')))
  test.equal(JSON.parse(readFileSync(join(state, 'jobs/job-1/plan.json'), 'utf8')).steps.length, 2, 'done is done')
  mkdirSync(join(state, 'jobs/job-2'))
  await work.tidy((id) => id === 'job-2')
  test.equal(await work.output(job.id, 'before'), '')
})

t.test('a failure has the reason, with the last lines', async (test) => {
  const { open, job } = fixture(test)
  const refusal = await refusalOf(open().run(job, planOf(step('echo because; exit 3'))))
  test.equal(refusal.code, 'APPLY_PARTIAL')
  test.match(refusal.message, /^work: sh ended with exit code 3\n[^]*because$/)
})

t.test('a daemon that ends reports nothing more; the next one resumes it', async (test) => {
  const { state, open, job, lines } = fixture(test)
  const gate = join(state, 'gate')
  const plan = planOf(step(`mkfifo ${gate}; echo begun; cat ${gate}`), step('echo end'))
  const first = open()
  let isSettled = false
  const settle = () => (isSettled = true)
  void first.run(job, plan).then(settle, settle)
  await untilHolds(() => lines().includes('begun'))
  first.close()
  const second = open().run(job, plan)
  writeFileSync(gate, 'go\n')
  await second
  test.match(lines().join('\n'), /the daemon was restarted/)
  test.equal(lines().at(-1), 'end')
  test.notOk(isSettled)
})

t.test('a killed job is started again, after the repair', async (test) => {
  const { state, open, job, lines } = fixture(test)
  const mark = join(state, 'mark')
  // The second attempt succeeds.
  const script = `test -e ${mark} && exit 0; touch ${mark}; kill -9 $PPID; sleep 1`
  await open().run(job, planOf(step(script), step('echo end')))
  test.match(lines().join('\n'), /continuing\)\n# work\nrepaired\n# work\n# work\nend/)
})

t.test('jobs begun before the daemon tidies up are left alone', async (test) => {
  const { open, job, lines } = fixture(test)
  const work = open()
  const done = work.run(job, planOf(step('sleep 1; echo still here')))
  await work.tidy(() => false)
  await done
  test.ok(lines().includes('still here'))
})
