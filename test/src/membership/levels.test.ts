import t from 'tap'
import { LEVEL } from '../../../src/cluster/levels.ts'
import { raiseLevel } from '../../../src/membership/levels.ts'
import { Members } from '../../../src/membership/members.ts'
import { openStore } from '../../fixtures/config.ts'

t.test('the last updated node makes its level possible', async (t) => {
  const store = openStore(t)
  const members = new Members(store.members)
  for (const id of ['a', 'b']) await members.add(() => ({ id, name: id, since: id }) as never)
  await raiseLevel(store, members, 'a')
  t.same([members.get('a')?.level, members.level], [LEVEL, 1])
  await raiseLevel(store, members, 'b')
  t.equal(members.level, LEVEL)
  const before = store.members.entries().length
  await raiseLevel(store, members, 'b')
  t.equal(store.members.entries().length, before)
})
