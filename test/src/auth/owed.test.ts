import t, { type Test } from 'tap'
import { Owed } from '../../../src/auth/owed.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { openStore } from '../../fixtures/config.ts'

const noQuorum = () => Promise.reject(new ApiError('NO_QUORUM', 'too few answer'))

function fixture(test: Test) {
  const { owed } = openStore(test)
  const keys = () => owed.entries().map(({ key }) => key)
  return { owed, keys, open: (isOver?: (value: number) => boolean) => new Owed<number>(owed, 'things', isOver) }
}

t.test('an unsent message is on the disk before that is reported, and deleted once sent', async (test) => {
  const { owed, keys, open } = fixture(test)
  const one = open()
  one.note('a', 1)
  await test.rejects(one.pay(noQuorum), { code: 'NO_QUORUM' })
  test.same(keys(), ['things a'])
  test.same(new Owed(owed, 'others').entries(), [], 'each table has its own')
  const next = open()
  test.same(next.entries(), [['a', 1]])
  await next.pay(async (told) => test.same(told, ['a']))
  test.same([keys(), next.entries()], [[], []])
  await next.pay(() => test.fail('nothing is left to send') as never)
})

t.test('a message sent at once never touches the disk, and another error stores nothing', async (test) => {
  const { keys, open } = fixture(test)
  const one = open()
  one.note('a', 1)
  await test.rejects(
    one.pay(() => Promise.reject(new Error('a defect'))),
    { message: 'a defect' },
  )
  test.same([keys(), one.has('a')], [[], true])
  await one.pay(async () => test.same(keys(), []))
  test.equal(one.has('a'), false)
})

t.test('an id that is used again during sending is sent again', async (test) => {
  const { keys, open } = fixture(test)
  const one = open()
  one.note('a', 1)
  await one.keep()
  await one.pay(async () => one.note('a', 2))
  test.same(one.entries(), [['a', 2]])
  test.same([keys(), open().entries()], [['things a'], [['a', 2]]])
})

t.test('a finished item is not kept for a start', async (test) => {
  const { keys, open } = fixture(test)
  let now = 0
  const one = open((until) => until <= now)
  one.note('a', 1)
  await one.keep()
  now = 1
  one.note('b', 2)
  await one.keep()
  test.same([keys(), one.has('a')], [['things b'], true])
})
