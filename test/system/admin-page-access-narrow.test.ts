import t from 'tap'
import { noBrowser } from '../fixtures/browser.ts'
import { everyPageIn } from './admin-page-looks.ts'

t.test('every page in forced colours and on a narrow screen', { skip: noBrowser }, (test) =>
  everyPageIn(test, {
    'forced colours': { forcedColors: 'active' },
    '360 px': { viewport: { width: 360, height: 740 } },
  }),
)
