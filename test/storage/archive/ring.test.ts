import t from 'tap'
import { RingReader, RingWriter } from '../../../storage/archive/ring.ts'
import { RING_ROWS, RING_SLAB_OBJECTS } from '../../../storage/limits.ts'

const S = 1_700_000_000

function copy(reader: RingReader, slot: number, id: number, from: number, to: number): number[] | undefined {
  const out = new Float64Array((to - from) * 4)
  return reader.copy(slot, id, from, to, out, 0, to - from, 4) ? [...out.subarray(0, to - from)] : undefined
}

t.test('a reader sees the written values; unset ones are unknown', async (t) => {
  const writer = new RingWriter()
  writer.reset(S)
  t.equal(writer.own(0, 7), 0, 'the first object creates the first slab')
  t.equal(writer.own(1, 8), undefined)
  writer.beginSecond(S)
  writer.set(0, S, 0, 5)
  writer.beginSecond(S + 1)
  writer.publish(S + 2, S + 1)
  const reader = new RingReader(writer.header, writer.slabs)
  t.strictSame([reader.hwm(), reader.oldest()], [S + 2, S])
  t.strictSame(copy(reader, 0, 7, S, S + 2), [5, Number.NaN])
  t.equal(copy(reader, 0, 99, S, S + 2), undefined, 'the place of another object')
})

t.test('rows that were overwritten during a copy are noticed', async (t) => {
  const writer = new RingWriter()
  writer.reset(S)
  writer.own(0, 7)
  for (let second = S; second < S + RING_ROWS + 10; second++) writer.beginSecond(second)
  const reader = new RingReader(writer.header, writer.slabs)
  t.equal(reader.oldest(), S + 10)
  t.equal(copy(reader, 0, 7, S + 9, S + 20), undefined)
  t.ok(copy(reader, 0, 7, S + 10, S + 20))
})

t.test('a place given to another object starts unknown', async (t) => {
  const writer = new RingWriter()
  writer.reset(S)
  writer.own(0, 7)
  writer.beginSecond(S)
  writer.set(0, S, 0, 5)
  writer.own(0, 9)
  const reader = new RingReader(writer.header, writer.slabs)
  t.strictSame(copy(reader, 0, 9, S, S + 1), [Number.NaN])
})

t.test('the ring grows by slabs that are announced to readers', async (t) => {
  const writer = new RingWriter()
  writer.reset(S)
  writer.own(0, 1)
  const reader = new RingReader(writer.header, writer.slabs)
  t.equal(writer.own(RING_SLAB_OBJECTS, 2), 1)
  writer.beginSecond(S)
  writer.set(RING_SLAB_OBJECTS, S, 0, 3)
  t.equal(copy(reader, RING_SLAB_OBJECTS, 2, S, S + 1), undefined, 'not known yet')
  const slab = writer.slabs[1]
  if (slab !== undefined) reader.addSlab(1, slab)
  t.strictSame(copy(reader, RING_SLAB_OBJECTS, 2, S, S + 1), [3])
  t.equal(writer.get(RING_SLAB_OBJECTS, S, 0), 3)
})
