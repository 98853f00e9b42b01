import t from 'tap'
import { tidyingStep, writingSteps } from '../../../src/drivers/check-file-steps.ts'

const file = (name: string, content = name) => ({ name, content })

t.test('the sandbox is tested before anything is written', async (test) => {
  const steps = writingSteps('/f', [], [file('backend-b'), file('sandbox'), file('script-c')])
  test.match(steps, [
    { kind: 'check', path: '/f/sandbox', argv: ['/f/sandbox.candidate', 'probe'], outside: {}, mode: 0o755 },
    { kind: 'replaceFile', path: '/f/sandbox', checked: true, mode: 0o755 },
    { kind: 'replaceFile', path: '/f/backend-b', checked: false, mode: 0o755 },
    { kind: 'replaceFile', path: '/f/script-c', checked: false },
  ])
})

t.test('existing files are left alone', async (test) => {
  const before = [file('backend-b'), file('sandbox')]
  test.match(writingSteps('/f', before, [file('backend-b', 'new'), file('sandbox')]), [{ path: '/f/backend-b' }])
  test.strictSame(writingSteps('/f', before, before), [])
})

t.test('unused files are deleted', async (test) => {
  test.match(tidyingStep('/f', [file('a')]), { kind: 'keepOnly', folder: '/f', names: ['a'] })
})
