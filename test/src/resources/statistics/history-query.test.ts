import t from 'tap'
import type { FieldError } from '../../../../src/base/errors.ts'
import { CORE_METRICS, FRONTEND_METRICS, METRICS } from '../../../../src/model/metrics.ts'
import { historyQuery, IDS_MAX, listedIds, windowOf } from '../../../../src/resources/statistics/history-query.ts'
import { refuses } from '../../../fixtures/config.ts'

const FRONTENDS = { title: 'Layer 7 frontends', metrics: FRONTEND_METRICS }
const WINDOW = { start: 10, end: 20 }

t.test('the schema lists the metrics of the objects, unless they are only the four', async (test) => {
  const told = (metrics: typeof METRICS | typeof CORE_METRICS) =>
    String(Object(windowOf({ title: 'Layer 9 things', metrics }).metrics).description)
  test.match(told(METRICS), /all metrics of Layer 9 things: .*totalTime\.$/)
  test.notMatch(told(CORE_METRICS), /all metrics/)
})

t.test('all problems of a query are reported together, each with its parameter', async (test) => {
  const errors: FieldError[] = [{ field: 'ids', code: 'TOO_MANY', message: 'are too many' }]
  const asked = { start: 20, end: 10, points: 5, resolution: 5, metrics: 'errors,queue,nope,' }
  const error = await refuses(test, 'INVALID_QUERY', () => historyQuery(asked, '', FRONTENDS, errors))
  test.same(
    error.details.errors?.map(({ field, code }) => `${field} ${code}`),
    [
      'ids TOO_MANY',
      'end OUT_OF_RANGE',
      'points CONFLICT',
      'metrics NOT_ALLOWED',
      'metrics NOT_ALLOWED',
      'metrics NOT_ALLOWED',
    ],
  )
  test.match(error.message, /"queue", which is not recorded for Layer 7 frontends; |"nope", which is not one of/)
})

t.test('metrics of an object are accepted in their order; the default is the four', async (test) => {
  test.same(historyQuery({ ...WINDOW, metrics: 'errors, bytesIn,errors' }, '', FRONTENDS).metrics, [
    'errors',
    'bytesIn',
  ])
  test.equal(historyQuery(WINDOW, '', FRONTENDS).metrics, CORE_METRICS)
})

t.test('ids are accepted once each, and refused as such', async (test) => {
  const errors: FieldError[] = []
  const refusal = (id: string) => (id.startsWith('x') ? 'which is another thing' : undefined)
  test.same(listedIds('b, a,b', refusal, errors), ['b', 'a'])
  test.same(errors, [])
  listedIds('a,,x"1', refusal, errors)
  test.same(errors, [
    { field: 'ids', code: 'NOT_FOUND', message: 'has an empty name, which is not an id' },
    { field: 'ids', code: 'NOT_FOUND', message: String.raw`has "x\"1", which is another thing` },
  ])
  const many = Array.from({ length: IDS_MAX + 1 }, (_, n) => `x${n}`)
  const tooMany: FieldError[] = []
  listedIds(many.join(), refusal, tooMany)
  test.same(
    tooMany.map(({ code }) => code),
    ['TOO_MANY'],
    'none of them is looked up',
  )
  const enough: FieldError[] = []
  listedIds(many.slice(1).join().replaceAll('x', 'y'), refusal, enough)
  test.same(enough, [])
})
