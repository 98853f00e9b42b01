interface Identified {
  readonly id: string
}

type All = readonly Identified[]

/** With many records, this is called for each of them with the same two lists. */
let last: { readonly before: All; readonly after: All; readonly ids: readonly string[] } | undefined

/**
 * Returns the ids of items that are not the same object in both lists. Equal items at both ends of the lists are
 * skipped.
 */
export function changedIds(before: All, after: All): readonly string[] {
  if (before === after) return []
  if (last?.before !== before || last.after !== after) last = { before, after, ids: compared(before, after) }
  return last.ids
}

function compared(before: All, after: All): readonly string[] {
  let head = 0
  while (head < before.length && before[head] === after[head]) head += 1
  let tail = 0
  while (tail < before.length - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1
  const old = new Map(before.slice(head, before.length - tail).map((one) => [one.id, one]))
  const changed: string[] = []
  for (const one of after.slice(head, after.length - tail)) {
    if (old.get(one.id) !== one) changed.push(one.id)
    old.delete(one.id)
  }
  return [...changed, ...old.keys()]
}
