import { readFileSync } from 'node:fs'
import t from 'tap'
import { findHeader } from '../../../src/drivers/haproxy/stats-csv.ts'
import { LIVE_FIELDS } from '../../../src/stats/live-fields.ts'

const CONTRACT =
  `status mode currentSessions maxSessions sessionLimit totalSessions sessionRate sessionRateMax bytesIn bytesOut requestRate
  totalRequests responses1xx responses2xx responses3xx responses4xx responses5xx responsesOther requestErrors connectionErrors responseErrors
  requestsDenied responsesDenied retries redispatches currentQueue maxQueue activeServers backupServers weight checkStatus checkCode
  checkDuration address lastChange downtime queueTime connectTime responseTime totalTime`.split(/\s+/)

t.test('the figures are those of the contract, and HAProxy has a column for each', async (t) => {
  const all = Object.values(LIVE_FIELDS).flat()
  t.strictSame([...new Set(all.map(({ name }) => name))].toSorted(), CONTRACT.toSorted())
  const csv = readFileSync(new URL('../../fixtures/haproxy-2.6/show-stat.csv', import.meta.url))
  const columns = findHeader(csv)?.columns
  for (const { name, column } of all) t.ok(columns?.has(column), `${name} is ${column}`)
})
