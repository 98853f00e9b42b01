import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { DetachedPlan, DetachedStatus, ProgramStep } from '../../../workers/detached/plan.ts'
import { PlanRun } from '../../../workers/detached/run-plan.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { noSmallDisk, smallDisk } from '../../fixtures/small-disk.ts'

const shell = (why: string, script: string, more: Partial<ProgramStep> = {}): ProgramStep => ({
  kind: 'program',
  why,
  weight: 1,
  argv: ['sh', '-c', script],
  timeout_ms: 10_000,
  ...more,
})

function fixture(test: Test, plan: Partial<DetachedPlan>, folder = temporaryFolder(test, 'plan')) {
  writeFileSync(join(folder, 'plan.json'), JSON.stringify({ steps: [], repair: [], ...plan }))
  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  const status = (): DetachedStatus => JSON.parse(read('status.json'))
  return {
    folder,
    read,
    status,
    put: (value: object) => writeFileSync(join(folder, 'status.json'), JSON.stringify(value)),
  }
}

t.test('steps in order, their output in the log, wanted output in a file', async (test) => {
  const { folder, read, status } = fixture(test, {
    steps: [
      shell('look', 'echo a 1', { output: 'before' }),
      shell('work', 'echo pmstatus:x:50:half >&3; echo working'),
      shell('forgiven', 'exit 3', { mayFail: true }),
    ],
  })
  await new PlanRun(folder, 'boot').run()
  test.match(status(), { state: 'succeeded', progress: 100, problem: null, starts: 1 })
  test.equal(read('before'), 'a 1\n')
  test.match(read('log'), /# look\n# work\nworking\n# forgiven\n/)
})

t.test('a failure ends the plan with the last lines, after its alternative steps', async (test) => {
  const { folder, read, status } = fixture(test, {
    steps: [
      shell('break', 'echo "the reason"; exit 100', { otherwise: [shell('tidy', 'echo tidied')] }),
      shell('never', 'echo never'),
    ],
  })
  await new PlanRun(folder, 'boot').run()
  test.match(status(), { state: 'failed', step: 0, problem: 'break: sh ended with exit code 100\n# break\nthe reason' })
  test.match(read('log'), /tidied/)
  test.notMatch(read('log'), /never/)
  await new PlanRun(folder, 'boot').run()
  test.match(status(), { state: 'failed', starts: 1 }, 'an ended plan is not started again')
})

t.test('an interrupted plan is repaired, and its step is repeated', async (test) => {
  const { folder, read, status, put } = fixture(test, {
    repair: [shell('repair', 'exit 1')],
    steps: [shell('first', 'echo first'), shell('second', 'echo second')],
  })
  let isStopping = false
  const run = new PlanRun(folder, 'boot', () => isStopping)
  isStopping = true
  await run.run()
  test.match(status(), { state: 'running', step: 0 }, 'a stop ends it between two steps')
  put({ ...status(), step: 1 })
  await new PlanRun(folder, 'boot').run()
  test.match(status(), { state: 'succeeded', starts: 2 })
  test.match(read('log'), /continuing\)\n# repair\n# second\nsecond\n$/)
  put({ ...status(), state: 'running', starts: 8 })
  await new PlanRun(folder, 'boot').run()
  test.match(status(), { state: 'failed', problem: /interrupted 8 times/ })
})

t.test(
  'on a full disk the work continues, and its end is reported when there is space',
  { skip: noSmallDisk },
  async (test) => {
    const disk = smallDisk(test, 1)
    const fill = `dd if=/dev/zero of=${disk}/rest bs=4k 2>/dev/null; for n in $(seq 30); do echo ${'x'.repeat(400)}; done`
    const { status, read } = fixture(
      test,
      {
        steps: [
          shell('fill', `${fill}; echo pmstatus:x:50:half >&3`),
          shell('list', 'echo a 1', { output: 'before', mayFail: true }),
          shell('break', 'exit 3', { otherwise: [shell('make room', `rm ${disk}/rest; echo roomy`)] }),
        ],
      },
      disk,
    )
    await new PlanRun(disk, 'boot').run()
    test.match(status(), { state: 'failed', step: 2, starts: 1, problem: /^break: / })
    test.match(read('log'), /roomy/)
    test.notMatch(read('log'), /# list/, 'it was full')
  },
)

t.test('a wait for a lock is retried; credentials are in no log', async (test) => {
  const { folder, read, status } = fixture(test, {
    steps: [
      shell(
        'ask',
        'echo https://me:secret@repo.test/x; test -e $MARK && exit 0; touch $MARK; echo no lock here; exit 100',
        {
          retriedFor: 'no lock',
        },
      ),
    ].map((step) => ({ ...step, argv: ['env', `MARK=${temporaryFolder(test, 'mark')}/mark`, ...step.argv] })),
  })
  await new PlanRun(folder, 'boot').run()
  test.match(status(), { state: 'succeeded' })
  test.match(read('log'), /https:\/\/\*\*@repo\.test\/x/)
  test.notMatch(read('log'), /secret/)
})

t.test('a completed step is no failure; an unexpected output is one', async (test) => {
  const done = fixture(test, {
    steps: [
      shell('make', 'echo it already exists >&2; exit 5', { doneWhen: 'already exists' }),
      shell('quiet', 'true', { isSilent: true }),
    ],
  })
  await new PlanRun(done.folder, 'boot').run()
  test.match(done.status(), { state: 'succeeded' })
  const other = fixture(test, { steps: [shell('make', 'echo no space >&2; exit 5', { doneWhen: 'already exists' })] })
  await new PlanRun(other.folder, 'boot').run()
  test.match(other.status(), { state: 'failed', problem: /no space/ })
  const loud = fixture(test, { steps: [shell('audit', 'echo half installed', { isSilent: true })] })
  await new PlanRun(loud.folder, 'boot').run()
  test.match(loud.status(), { state: 'failed', problem: /half installed/ })
})

t.test('the log is limited', async (test) => {
  const { folder, read, status } = fixture(test, {
    steps: [shell('flood', `yes ${'x'.repeat(2000)} | head -n 3000; echo last >&2; exit 1`)],
  })
  await new PlanRun(folder, 'boot').run()
  test.ok(read('log').length < 1_100_000)
  test.match(read('log'), /the log is full/)
  test.match(status().problem, /last/, 'the reason is reported all the same')
})
