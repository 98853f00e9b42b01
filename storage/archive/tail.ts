import { TAIL_BLOCK_OBJECTS } from '../limits.ts'
import { type ByteSink, ByteSource } from './bytes.ts'
import { decodeColumns, encodeColumns } from './codec.ts'
import { COUNTER_COUNT } from './tiers.ts'

export function blockOf(objectId: number): number {
  return Math.floor(objectId / TAIL_BLOCK_OBJECTS)
}

export function placeInBlock(objectId: number): number {
  return objectId % TAIL_BLOCK_OBJECTS
}

/** Encodes a row: `columns` values for each of TAIL_BLOCK_OBJECTS objects with consecutive numbers; NaN is unknown. */
export function encodeBlock(sink: ByteSink, values: Float64Array, columns: number): void {
  encodeColumns(sink, values, TAIL_BLOCK_OBJECTS, columns)
}

export function decodeBlock(source: ByteSource, out: Float64Array, columns: number): void {
  decodeColumns(source, out, TAIL_BLOCK_OBJECTS, columns)
}

/** The head of the counters of one block at one second, which let a restart continue without a loss. */
export interface BaselineHead {
  readonly second: number
  readonly pid: number
}

export function encodeBaseline(sink: ByteSink, head: BaselineHead, values: Float64Array): Uint8Array {
  sink.length = 0
  sink.u32(head.second)
  sink.u32(head.pid)
  encodeBlock(sink, values, COUNTER_COUNT)
  return sink.take()
}

export function decodeBaseline(bytes: Uint8Array, out: Float64Array): BaselineHead {
  const source = new ByteSource(bytes)
  const head = { second: source.u32(), pid: source.u32() }
  decodeBlock(source, out, COUNTER_COUNT)
  return head
}
