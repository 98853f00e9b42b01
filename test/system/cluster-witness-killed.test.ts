import { existsSync, writeFileSync } from 'node:fs'
import { join as pathOf } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ClusterDaemons, form, join } from '../fixtures/cluster-daemons.ts'
import { addRip, allVote, seenBy } from '../fixtures/cluster-sight.ts'
import { until } from '../fixtures/until.ts'
import type { WitnessDaemon } from '../fixtures/witness-daemon.ts'

/** A witness that is killed with its etcd while it joins: the same token makes it the witness after its next start. */

const isThere = (name: string) => (witness: WitnessDaemon) => existsSync(pathOf(witness.state, 'cluster', name))

/** In their order of occurrence. */
const MOMENTS: Readonly<Record<string, (witness: WitnessDaemon) => boolean>> = {
  'it was admitted': isThere('peer-key.pem'),
  'it is recorded as a witness': isThere('witness.json'),
}

t.test('a witness that is killed', async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const [left, right] = [await daemons.start(), await daemons.start()]
  await form(left, 'left')
  t.equal((await join(right, 'right', left)).status, 200)
  await allVote(left, 2)
  for (const [moment, has] of Object.entries(MOMENTS)) {
    await t.test(moment, async (t) => {
      const witness = daemons.witness()
      const { token } = await left.daemon.data('POST', '/cluster/tokens', { role: 'witness' })
      writeFileSync(witness.tokenFile, String(token), { mode: 0o600 })
      witness.start()
      // Polls faster than other waits: the awaited moment is short.
      while (!has(witness)) await sleep(1)
      await witness.die()
      witness.start()
      const seen = await until(
        'its vote',
        () => seenBy(left),
        (state) => state.witness?.isVoter === true && state.witness.state === 'online',
      )
      t.equal(existsSync(witness.tokenFile), false)
      t.equal(isThere('applying.json')(witness), false)
      await addRip(right, moment)
      // On a busy machine a node may seem silent, which is refused before anything changes.
      const removed = () => left.daemon.call('DELETE', `/cluster/nodes/${seen.witness.id}`)
      t.match(await until('it is let go', removed, ({ status }) => status !== 503), { status: 200 })
      t.equal((await seenBy(left)).witness, null)
      await witness.die()
    })
  }
  return undefined
})
