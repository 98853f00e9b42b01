import t from 'tap'
import { noBrowser } from '../fixtures/browser.ts'
import { everyPageIn } from './admin-page-looks.ts'

t.test('every page in the light and in the dark', { skip: noBrowser }, (test) =>
  everyPageIn(test, { light: {}, dark: { colorScheme: 'dark' } }),
)
