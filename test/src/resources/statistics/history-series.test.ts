import t from 'tap'
import { FRONTEND_METRICS, METRICS } from '../../../../src/model/metrics.ts'
import { columnsOf, servedOf } from '../../../../src/resources/statistics/history-series.ts'

t.test('a series has the metrics of its kind, each with its meaning and unit', async (test) => {
  const { properties } = columnsOf(METRICS)
  test.same(Object.keys(properties), METRICS)
  test.same(Object.keys(columnsOf(FRONTEND_METRICS).properties), FRONTEND_METRICS)
  for (const metric of METRICS) {
    const { type, items, description } = Object(properties[metric])
    test.match({ type, items }, { type: 'array', items: { type: ['number', 'null'] } }, metric)
    test.match(
      description,
      /per second|Open sessions|Waiting requests|^Time .*, ms, the average that HAProxy itself keeps/,
      metric,
    )
  }
})

t.test('the served parameters in an answer name the same metrics', async (test) => {
  test.same(Object(servedOf(FRONTEND_METRICS).metrics.items).enum, FRONTEND_METRICS)
})
