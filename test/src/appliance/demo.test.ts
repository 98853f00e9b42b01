import { once } from 'node:events'
import { createServer } from 'node:net'
import t, { type Test } from 'tap'
import { Demo } from '../../../src/appliance/demo.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { Editing } from '../../../src/config/editing.ts'
import { configView } from '../../../src/config/views.ts'
import { openStore } from '../../fixtures/config.ts'
import { silentLog } from '../../../src/base/log.ts'
import { manualClock } from '../../fixtures/manual-clock.ts'

/** A demonstration whose applies end as `apply` decides, which gets the port. */
function fixture(test: Test, apply: (port: number) => Promise<void>) {
  const store = openStore(test)
  const frontends = () => configView(store.candidate).list('l7Frontends')
  const demo = new Demo({
    settings: { beside: undefined },
    store,
    editing: new Editing(store),
    engine: { apply: () => apply(Number(frontends()[0]?.ports)) } as never,
    membership: { hasOthers: false },
    clock: manualClock(),
    log: silentLog,
  })
  test.teardown(() => demo.close())
  return { demo, frontends }
}

t.test('a demonstration whose port is taken meanwhile uses another one', async (test) => {
  const tried: number[] = []
  const { demo, frontends } = fixture(test, async (port) => {
    tried.push(port)
    if (tried.length > 1) return
    const other = createServer().listen(port, '127.0.0.1')
    test.teardown(() => other.close())
    await once(other, 'listening')
    throw new ApiError('CONFIG_INVALID', 'cannot bind socket')
  })
  const url = await demo.start()
  const [first, second] = tried
  test.equal(tried.length, 2)
  test.not(first, second)
  test.equal(url, `http://127.0.0.1:${second}/`)
  test.equal(frontends().length, 1, 'the refused edit is reverted')
})

t.test('after another refusal the next start retries', async (test) => {
  let tried = 0
  const { demo, frontends } = fixture(test, async () => {
    tried += 1
    throw new ApiError('CONFIG_INVALID', 'no')
  })
  test.equal(await demo.start(), undefined)
  test.same([tried, demo.exists, frontends().length], [1, true, 0])
})
