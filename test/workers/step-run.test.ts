import t from 'tap'
import { failureOf, problemOf, startRun } from '../../workers/step-run.ts'
import { RecordingHost } from '../../workers/host/recording-host.ts'

t.test('an exit code is a failure, 127 a missing program', async (test) => {
  test.equal(failureOf({ exitCode: 0, output: 'fine' }), undefined)
  test.same(failureOf({ exitCode: 1, output: 'bad' }), { output: 'bad', missing: false })
  test.same(failureOf({ exitCode: 127, output: 'no ip' }), { output: 'no ip', missing: true })
  test.equal(problemOf({ exitCode: 0, output: 'fine' }), undefined)
  test.equal(problemOf({ exitCode: 2, output: 'bad' }), 'bad')
})

t.test('a run starts with nothing done', async (test) => {
  test.match(startRun(new RecordingHost()), { undos: [], warnings: [], filesChanged: false })
})
