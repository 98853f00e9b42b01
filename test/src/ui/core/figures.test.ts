import t from 'tap'
import { failedIn, newIn, openIn, rateOf, serversChecked, serversUp } from '../../../../src/ui/core/figures.ts'

t.test('an unknown value is not 0', async (test) => {
  const silent = { currentSessions: null, sessionRate: null, requestRate: null, responses5xx: null, mode: null }
  for (const sum of [openIn, newIn, failedIn]) {
    test.equal(sum([]), undefined)
    test.equal(sum([silent, silent]), undefined)
  }
  test.equal(openIn([silent, { currentSessions: 0 }]), 0)
  test.equal(rateOf(silent), undefined)
  test.equal(rateOf(undefined), undefined)
  test.equal(serversUp({ activeServers: null, backupServers: null }), undefined, 'HAProxy does not answer')
  test.equal(serversUp({ realsUp: null }), undefined, 'the kernel’s table is not read')
  test.equal(serversUp(undefined), undefined)
})

t.test('figures of both layers, and of a server in several backends', async (test) => {
  test.equal(openIn([{ currentSessions: 2 }, { activeConnections: 3 }]), 5)
  test.equal(newIn([{ sessionRate: 2 }, { connectionsPerSecond: 1.5 }]), 3.5)
  test.equal(failedIn([{ responses5xx: 1 }, { activeConnections: 3 }]), 1)
  test.equal(serversUp({ activeServers: 2, backupServers: 1 }), 3)
  test.equal(serversUp({ realsUp: 0 }), 0)
})

t.test('rates per second: requests, and in tcp mode sessions', async (test) => {
  test.equal(rateOf({ mode: 'http', requestRate: 7, sessionRate: 2 }), 7)
  test.equal(rateOf({ mode: 'tcp', requestRate: 0, sessionRate: 2 }), 2)
  test.equal(rateOf({ connectionsPerSecond: 4 }), 4)
})

t.test('unchecked servers are counted separately: they do not count as not up', async (test) => {
  const none = { total: 0, up: 0, down: 0, unknown: 0 }
  const layer7 = { total: 333, up: 1, down: 0, unknown: 332 }
  test.same(serversChecked([layer7, none]), { known: 1, up: 1, down: 0, unknown: 332 })
  const layer4 = { total: 5, up: 2, down: 1, unknown: 0 }
  test.same(serversChecked([layer7, layer4]), { known: 6, up: 3, down: 1, unknown: 332 }, 'drained ones are known')
})
