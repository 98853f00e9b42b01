import t from 'tap'
import { inject } from './injected-texts.ts'

t.test('injection into every text field', inject)
