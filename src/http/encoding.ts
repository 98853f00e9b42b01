import { weightsOf } from '../api/accept.ts'
import type { Packing } from '../base/packing.ts'

/** The content encoding of an answer. */
export type Encoding = 'identity' | Packing

/** Brotli at its fast level is as quick as gzip at its own, and smaller; plain comes last. */
const PREFERRED: readonly Encoding[] = ['br', 'gzip', 'identity']
/** Pollers send the same few values for ever. */
const KNOWN_MAX = 64

const known = new Map<string, Encoding>()

/** RFC 9110 §12.5.3: returns the supported encoding with the highest weight; `identity` if the client wants none. */
export function chooseEncoding(acceptEncoding: string): Encoding {
  if (acceptEncoding === '') return 'identity'
  const ready = known.get(acceptEncoding)
  if (ready !== undefined) return ready
  const chosen = choose(acceptEncoding)
  if (known.size >= KNOWN_MAX) known.clear()
  known.set(acceptEncoding, chosen)
  return chosen
}

function choose(acceptEncoding: string): Encoding {
  const weights = new Map(weightsOf(acceptEncoding))
  const gzip = weights.get('x-gzip')
  if (gzip !== undefined) weights.set('gzip', gzip)
  const anyOther = weights.get('*')
  // Plain is always acceptable, but unless it is named it is the last resort.
  const weightFor = (encoding: Encoding) => weights.get(encoding) ?? anyOther ?? (encoding === 'identity' ? 0 : -1)
  let best: Encoding = 'identity'
  let weight = 0
  for (const encoding of PREFERRED) {
    if (weightFor(encoding) <= weight) continue
    best = encoding
    weight = weightFor(encoding)
  }
  return best
}
