/** The task of the packing pool: compresses what would otherwise take a processor from those who poll. */
import { constants, setPriority } from 'node:os'
import { isMainThread } from 'node:worker_threads'
import { type Packing, packHere } from '../src/base/packing.ts'

// Of this thread alone, on Linux: HAProxy and the threads that answer go first. Tests without threads stay as they are.
if (!isMainThread) setPriority(0, constants.priority.PRIORITY_BELOW_NORMAL)

/** The answer is in memory that threads share, so that nobody copies it once more. */
export function pack({ packing, body }: { readonly packing: Packing; readonly body: Uint8Array }): Uint8Array {
  const packed = packHere(packing, body)
  const shared = new Uint8Array(new SharedArrayBuffer(packed.length))
  shared.set(packed)
  return shared
}
