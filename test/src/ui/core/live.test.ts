import t from 'tap'
import type { Test } from 'tap'
import { changes, isAway } from '../../../../src/ui/core/api.ts'
import { movesOf } from '../../../../src/ui/core/moves.ts'
import { state } from '../../../../src/ui/core/session.ts'
import { answeredPage } from '../../../fixtures/page.ts'

const NONE = { frontends: { total: 0 }, backends: { total: 0 }, reals: { total: 0 } }
const OVERVIEW = {
  time: new Date().toISOString(),
  nodeId: 'node',
  layer7: NONE,
  layer4: NONE,
  apply: { state: 'idle', revision: 7 },
  pending: { count: 1, mine: 0, changedAt: '2026-01-01T12:00:00.000Z', warnings: [] },
}

/** Made for browsers: its types are not those of the daemon. */
const LIVE: string = new URL('../../../../src/ui/core/live.ts', import.meta.url).href

/** There is no other window; a real channel of Node would keep the process alive. */
class AloneChannel extends EventTarget {
  postMessage(): void {}
}

async function live(test: Test, shown: { overview: object }) {
  test.intercept(globalThis, 'document' as never, { value: { hidden: false, addEventListener: () => undefined } })
  test.intercept(globalThis, 'BroadcastChannel', { value: AloneChannel })
  answeredPage(test, ({ url }) =>
    Response.json({ status: 'success', data: url.endsWith('/overview') ? shown.overview : [] }),
  )
  return (await import(LIVE)) as { readonly refreshOverview: () => Promise<void> }
}

t.test('an edit of a pending change makes every window read again', async (test) => {
  const shown = { overview: OVERVIEW }
  const { refreshOverview } = await live(test, shown)
  await refreshOverview()
  const before = changes.value
  await refreshOverview()
  test.equal(changes.value, before, 'nothing has changed')
  shown.overview = { ...OVERVIEW, pending: { ...OVERVIEW.pending, changedAt: '2026-01-01T12:00:01.000Z' } }
  await refreshOverview()
  test.equal(changes.value, before + 1)
})

t.test('a server found healthy makes lists of servers read again: no event reports its first check', async (test) => {
  const shown: { overview: object } = { overview: OVERVIEW }
  const { refreshOverview } = await live(test, shown)
  await refreshOverview()
  const [all, servers] = [changes.value, movesOf('/ipvsDirector/rips')]
  shown.overview = { ...OVERVIEW, layer7: { ...NONE, reals: { total: 0, up: 1 } } }
  await refreshOverview()
  test.same([changes.value, movesOf('/ipvsDirector/rips')], [all, servers + 1])
})

t.test('a failed read is repeated when the daemon answers', async (test) => {
  await live(test, { overview: OVERVIEW })
  test.teardown(() => (state.value = 'out'))
  state.value = 'in'
  const before = changes.value
  isAway.value = true
  test.equal(changes.value, before)
  isAway.value = false
  test.equal(changes.value, before + 1)
})
