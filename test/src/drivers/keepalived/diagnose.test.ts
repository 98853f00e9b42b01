import t from 'tap'
import { diagnoseOutput } from '../../../../src/drivers/keepalived/diagnose.ts'
import { l4Frontend } from '../../../fixtures/config.ts'
import { viewOf } from '../../../fixtures/view.ts'

const view = viewOf({ l4Frontends: [l4Frontend('fe-1', 'be')] })

t.test('a message with a frontend concerns it, any other nothing in particular', (test) => {
  test.match(diagnoseOutput('(file: Line 3) group fe-1 is wrong\n', view), [
    { section: 'l4Frontends', id: 'fe-1', message: '(file: Line 3) group fe-1 is wrong' },
  ])
  test.match(diagnoseOutput('a\nb\nc\nd\n', view), [{ section: undefined, message: 'b\nc\nd' }])
  test.match(diagnoseOutput('', view), [{ message: 'keepalived gave no reason' }])
  test.end()
})
