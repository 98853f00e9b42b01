/**
 * Requests of a daemon's clients and their answers, with the conditions that hold whatever happens to the daemon: each
 * record is a register whose writes have unique values.
 */

export interface Write {
  readonly record: string
  /** Unique among all writes. */
  readonly value: string
  readonly begin: number
  /** Time of its answer, or of the end of its connection. */
  readonly end: number
  /** `unknown`: the connection broke; it was carried out before its end, or never. */
  readonly outcome: 'done' | 'refused' | 'unknown'
  /** The entity tag that was sent, and the time at which it was read. */
  readonly base?: { readonly tag: string; readonly read: number } | undefined
}

export interface Read {
  readonly record: string
  readonly value: string
  readonly begin: number
  readonly end: number
}

/** Returns sentences about impossible observations; [] when all is well. */
export function violations(writes: readonly Write[], reads: readonly Read[]): readonly string[] {
  const records = new Set([...writes, ...reads].map(({ record }) => record))
  return [...records].flatMap((record) => {
    const isOf = (operation: { readonly record: string }) => operation.record === record
    const ownWrites = writes.filter(isOf)
    return [
      ...reads.filter(isOf).flatMap((read) => wrongRead(read, ownWrites)),
      ...ownWrites.flatMap((write) => wrongCondition(write, ownWrites)),
      ...sharedTags(record, ownWrites),
    ]
  })
}

/** A read returns a write that was not refused and that no other, answered write replaced before the read began. */
function wrongRead(read: Read, writes: readonly Write[]): readonly string[] {
  const source = writes.find(({ value }) => value === read.value)
  const title = `${read.record}: a read at ${read.begin.toFixed(0)} answered ${read.value}`
  if (source === undefined) return [`${title}, which nobody wrote`]
  if (source.outcome === 'refused') return [`${title}, which was refused`]
  if (source.begin > read.end) return [`${title}, which was not written yet`]
  const later = writes.find(({ outcome, begin, end }) => outcome === 'done' && begin > source.end && end < read.begin)
  return later === undefined ? [] : [`${title}, although ${later.value} was answered before`]
}

/** A conditional write fails when another write was begun and answered since its tag was read. */
function wrongCondition(write: Write, writes: readonly Write[]): readonly string[] {
  const { base } = write
  if (base === undefined || write.outcome !== 'done') return []
  const between = writes.find(
    (other) => other !== write && other.outcome === 'done' && other.begin > base.read && other.end < write.begin,
  )
  return between === undefined
    ? []
    : [`${write.record}: ${write.value} passed with a tag from before ${between.value} was written`]
}

function sharedTags(record: string, writes: readonly Write[]): readonly string[] {
  const passed = new Map<string, string>()
  const shared: string[] = []
  for (const { outcome, base, value } of writes) {
    if (outcome !== 'done' || base === undefined) continue
    const other = passed.get(base.tag)
    if (other !== undefined) shared.push(`${record}: ${other} and ${value} both passed with the tag ${base.tag}`)
    passed.set(base.tag, value)
  }
  return shared
}
