import t from 'tap'
import { summarize } from '../../../src/warnings/counted.ts'

const warning = (message: string) => ({ code: 'REMARK', message, resource: '', resourceId: '', name: '' }) as const

t.test('warnings as one sentence, with the first five of them', async (test) => {
  test.equal(summarize([warning('one')]), '1 warning: one')
  test.equal(summarize(['a', 'b'].map(warning)), '2 warnings: a; b')
  test.equal(summarize(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(warning)), '7 warnings: a; b; c; d; e (and 2 more)')
})
