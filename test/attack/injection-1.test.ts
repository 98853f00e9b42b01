import t from 'tap'
import { inMemory } from './attack-fixture.ts'
import { inject } from './injected-texts.ts'

inMemory()

t.test('injection into every text field, part 1', (test) => inject(test, 0))
