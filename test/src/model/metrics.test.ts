import t from 'tap'
import { CONSOLIDATIONS, isMetric, METRICS } from '../../../src/model/metrics.ts'

t.test('the metrics of the contract, in the order of the archive’s columns', async (test) => {
  test.same(METRICS, ['currentSessions', 'sessionRate', 'bytesIn', 'bytesOut'], 'a new one goes to the end')
  test.same(CONSOLIDATIONS, ['average', 'minimum', 'maximum', 'sum'])
})

t.test('a metric is one of them, spelled so', async (test) => {
  for (const metric of METRICS) test.ok(isMetric(metric), metric)
  for (const name of ['', 'bytesin', 'bytesIn ', 'constructor', 'length', '0']) test.notOk(isMetric(name), name)
})
