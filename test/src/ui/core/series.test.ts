import t from 'tap'
import { sumOfSeries, timesOf, valuesBefore } from '../../../../src/ui/core/series.ts'

t.test('steps of an answer begin at its start', async (test) => {
  test.same(timesOf({ start: 100, resolution: 5 }, 3), [100, 105, 110])
})

t.test('values of a week before are at their time, however long the remaining steps are', async (test) => {
  const times = timesOf({ start: 1_000, resolution: 10 }, 8)
  const minutes = { start: 960 - 500, resolution: 60 }
  test.same(valuesBefore(times, 500, minutes, [7, null]), [7, 7, null, null, null, null, null, null])
  test.same(valuesBefore(times, 500, minutes, [7, 8]), [7, 7, 8, 8, 8, 8, 8, 8])
  test.same(valuesBefore(times, 500, { start: 510, resolution: 10 }, [1, 2]), [null, 1, 2, ...Array(5).fill(null)])
})

t.test('traffic of several backends to a server is added; unknown in all stays unknown', async (test) => {
  const one = { bytesIn: [1, null, null], bytesOut: [0, 1, 2] }
  const two = { bytesIn: [2, 5, null], bytesOut: [1, null, 3] }
  test.same(sumOfSeries([one, two]), { bytesIn: [3, 5, null], bytesOut: [1, 1, 5] })
  test.same(sumOfSeries([one]), one)
  test.same(sumOfSeries([]), {})
})
