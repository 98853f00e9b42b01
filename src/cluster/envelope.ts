import type { Entry } from '../../storage/config/entry.ts'

/** Version of the format; a node that reads another one stops folding, and reports it. */
const VERSION = 1

/** An entry in the form in which the log of the cluster holds it. */
export interface Envelope {
  readonly v: number
  /** Generated for one attempt to write the entry, so that its writer recognises it in the log. */
  readonly id: string
  /** Id of the writing node. */
  readonly node: string
  /** ISO 8601, by the clock of the writing node; for display only. */
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

/** An entry that this version does not know: a newer node wrote it. */
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

/**
 * The written form. JSON drops undefined fields, which mark the removals of an amendment: they are listed beside it.
 */
interface Written extends Envelope {
  readonly takenAway?: readonly string[]
}

export function encodeEnvelope(envelope: Envelope): Buffer {
  const patch = envelope.entry.op === 'amend' ? envelope.entry.patch : {}
  const takenAway = Object.keys(patch).filter((field) => patch[field] === undefined)
  const written: Written = takenAway.length === 0 ? envelope : { ...envelope, takenAway }
  return Buffer.from(JSON.stringify(written))
}

/** Reads an entry. @throws {UnknownEntryError} */
export function decodeEnvelope(bytes: Uint8Array): Envelope {
  // Sound: only nodes have the key that sealed it, and version and operation are checked here.
  const { takenAway = [], ...envelope } = JSON.parse(Buffer.from(bytes).toString()) as Written
  const { v, entry } = envelope
  if (v !== VERSION) throw new UnknownEntryError(`it has version ${v}, but this node knows only ${VERSION}`)
  if (!OPERATIONS.has(entry.op)) throw new UnknownEntryError(`this node does not know the operation ${entry.op}`)
  if (entry.op !== 'amend') return envelope
  const gone = Object.fromEntries(takenAway.map((field) => [field, undefined]))
  return { ...envelope, entry: { ...entry, patch: { ...entry.patch, ...gone } } }
}
