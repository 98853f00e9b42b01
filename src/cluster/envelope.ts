import type { Entry } from '../../storage/config/entry.ts'

/** Version of what follows; a node that meets another one stops folding, and says so. */
const VERSION = 1

/** An entry as it stands in the log of the cluster. */
export interface Envelope {
  readonly v: number
  /** Made for one attempt to write it, so that its writer recognises it in the log. */
  readonly id: string
  /** Id of the node that wrote it. */
  readonly node: string
  /** ISO 8601, by the clock of that node; for people only. */
  readonly at: string
  readonly entry: Entry
}

const OPERATIONS: ReadonlySet<string> = new Set<Entry['op']>([
  'stage',
  'freeze',
  'thaw',
  'promote',
  'confirm',
  'amend',
  'put',
  'compare',
  'takeover',
  'level',
])

/** An entry that this version does not know: a newer node has written it. */
export class UnknownEntryError extends Error {
  override readonly name = 'UnknownEntryError'
}

export const envelopeOf = (id: string, node: string, at: string, entry: Entry): Envelope => ({
  v: VERSION,
  id,
  node,
  at,
  entry,
})

/** JSON has no undefined fields, which is what an amendment takes away: they are named beside it. */
interface Written extends Envelope {
  readonly takenAway?: readonly string[]
}

export function encodeEnvelope(envelope: Envelope): Buffer {
  const patch = envelope.entry.op === 'amend' ? envelope.entry.patch : {}
  const takenAway = Object.keys(patch).filter((field) => patch[field] === undefined)
  const written: Written = takenAway.length === 0 ? envelope : { ...envelope, takenAway }
  return Buffer.from(JSON.stringify(written))
}

/** @throws {UnknownEntryError} */
export function decodeEnvelope(bytes: Uint8Array): Envelope {
  // Sound: nobody else has the key that it was sealed with, and version and operation are looked at here.
  const { takenAway = [], ...envelope } = JSON.parse(Buffer.from(bytes).toString()) as Written
  const { v, entry } = envelope
  if (v !== VERSION) throw new UnknownEntryError(`it has version ${v}, and this node knows ${VERSION}`)
  if (!OPERATIONS.has(entry.op)) throw new UnknownEntryError(`this node does not know the operation ${entry.op}`)
  if (entry.op !== 'amend') return envelope
  const gone = Object.fromEntries(takenAway.map((field) => [field, undefined]))
  return { ...envelope, entry: { ...entry, patch: { ...entry.patch, ...gone } } }
}
