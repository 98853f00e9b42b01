import t from 'tap'
import { Reply } from '../../../src/api/reply.ts'
import { slicedList } from '../../../src/api/sliced-list.ts'

const records = (count: number) => Array.from({ length: count }, (_, id) => ({ id, name: `"${id}"` }))

t.test('a short list is told at once', (t) => {
  t.same(
    slicedList('Things', records(2), ({ id }) => ({ id })),
    [{ id: 0 }, { id: 1 }],
  )
  t.same(
    slicedList('Things', [], (one) => one),
    [],
  )
  t.end()
})

t.test('a long one is the same envelope, a part at a time, and looks up nothing before its turn', (t) => {
  for (const count of [201, 400, 1_001]) {
    let told = 0
    const reply = slicedList('Things', records(count), (record) => {
      told += 1
      return record
    })
    if (!(reply instanceof Reply)) throw new Error('it is long')
    const slices = reply.rendered?.slices?.()
    const first = slices?.next()
    t.equal(told, 200, 'the others have to wait')
    const parts = [first?.value]
    for (let next = slices?.next(); next !== undefined; next = next.done === true ? undefined : slices?.next())
      if (next.done !== true) parts.push(next.value)
    const text = parts.map((part) => Buffer.from(part ?? '').toString()).join('')
    t.same(JSON.parse(text), { status: 'success', message: 'Things', data: records(count) })
  }
  t.end()
})
