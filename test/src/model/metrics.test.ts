import t from 'tap'
import { CONSOLIDATIONS, CORE_METRICS, FRONTEND_METRICS, isMetric, METRICS } from '../../../src/model/metrics.ts'
import { CORE_COUNT, METRIC_COUNT } from '../../../storage/archive/tiers.ts'

t.test('the metrics of the contract, in the order of the archive’s columns', async (test) => {
  const specified = ['currentSessions', 'sessionRate', 'bytesIn', 'bytesOut']
  const answers = ['1xx', '2xx', '3xx', '4xx', '5xx'].map((codes) => `responses${codes}`)
  const times = ['responseTime', 'connectTime', 'totalTime']
  test.same(METRICS, [...specified, 'requestRate', ...answers, 'errors', 'queue', ...times], 'a new one is appended')
  test.same(CORE_METRICS, specified)
  test.same(FRONTEND_METRICS, [...specified, 'requestRate', ...answers, 'errors'])
  test.same([METRICS.length, CORE_METRICS.length], [METRIC_COUNT, CORE_COUNT])
  test.same(CONSOLIDATIONS, ['average', 'minimum', 'maximum', 'sum'])
})

t.test('a metric is one of them, spelled exactly', async (test) => {
  for (const metric of METRICS) test.ok(isMetric(metric), metric)
  for (const name of ['', 'bytesin', 'bytesIn ', 'constructor', 'length', '0']) test.notOk(isMetric(name), name)
})
