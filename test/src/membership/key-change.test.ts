import t, { type Test } from 'tap'
import { KeyNodes } from '../../fixtures/key-change.ts'

/** The newest authorities, known to all. */
const newestOf = ({ all: [node] }: KeyNodes) => {
  const newest = node?.members.authorities().at(-1)
  if (newest === undefined) throw new Error('there are no authorities')
  return newest
}

/** Changes authorities repeatedly, and kills a daemon at another point each time, until no points are left. */
async function killedEverywhere(test: Test, victimId: string): Promise<void> {
  const nodes = await KeyNodes.form(test, ['a', 'b'])
  const victim = nodes.all.find(({ id }) => id === victimId)
  if (victim === undefined) throw new Error('there is no such node')
  let kills = 0
  for (let point = 1; ; point++) {
    const { keyId, number } = newestOf(nodes)
    nodes.due = keyId
    victim.stopAt = victim.points + point
    if (await nodes.settled(number + 1)) break
    kills += 1
    // The others continue without it, for as long as they can.
    for (let looks = 0; looks < 3; looks++) await nodes.look()
    if (point % 2 === 0) victim.readFiles()
    nodes.assertReached()
    await victim.endLease()
    await victim.start()
    test.ok(await nodes.settled(number + 1), `killed at point ${point}`)
  }
  test.ok(kills > 30, `${kills} points`)
}

t.test('the first node is killed at any point: new authorities everywhere, no node is cut off', (test) =>
  killedEverywhere(test, 'a'),
)

t.test('another node is killed at any point of the steps', (test) => killedEverywhere(test, 'b'))
