import t from 'tap'
import { noBrowser } from '../fixtures/browser.ts'
import { everyPageIn } from './admin-page-looks.ts'

t.test('every page in the light and dark themes', { skip: noBrowser }, (test) =>
  everyPageIn(test, { light: {}, dark: { colorScheme: 'dark' } }),
)
