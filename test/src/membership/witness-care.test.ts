import t from 'tap'
import { twoNodes } from '../../fixtures/witnessed.ts'

/** What it does for a witness that is there is seen from the other side: test/src/witness/witness.test.ts. */

t.test('where there is no witness nothing is asked, and of one that is away nothing is known', async (t) => {
  const { care, members, listed } = await twoNodes(t)
  await care.look({ leader: 'a' } as never, listed)
  t.equal(await care.doesVote(), false)
  await members.addWitness(() => ({ ...(members.get('b') as object), id: 'w', name: 'third' }) as never)
  await care.look({ leader: 'a' } as never, listed)
  t.equal(care.livenessOf('w').isReachable, false)
  t.equal(await care.doesVote(), false)
  t.match(members.witness, { id: 'w', serials: [] })
})
