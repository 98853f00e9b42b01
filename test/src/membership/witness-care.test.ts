import t from 'tap'
import { twoNodes } from '../../fixtures/witnessed.ts'

/** test/src/witness/witness.test.ts shows the work for an existing witness from its side. */

t.test('without a witness nothing is asked, and of an absent one nothing is known', async (t) => {
  const { care, members, listed } = await twoNodes(t)
  await care.look({ leader: 'a' } as never, listed)
  t.equal(await care.doesVote(), false)
  await members.addWitness(() => ({ ...(members.get('b') as object), id: 'w', name: 'third' }) as never)
  await care.look({ leader: 'a' } as never, listed)
  t.equal(care.livenessOf('w').isReachable, false)
  t.equal(await care.doesVote(), false)
  t.match(members.witness, { id: 'w', serials: [] })
})
