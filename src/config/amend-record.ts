import { applyPatch } from '../../storage/config/amendment.ts'
import type { RecordChange } from '../model/sections.ts'
import type { AmendedSection, Amending, ApplyParts } from './apply-parts.ts'
import { assertRecord } from './record-schema.ts'
import { CLUSTER, configView } from './views.ts'

interface Parts extends Pick<ApplyParts, 'store' | 'onPromoted'> {
  readonly engine: { readonly busy: boolean; idle(): Promise<void> }
}

/**
 * Changes a record at once; no driver is involved in these sections. It waits for an apply outside the queue of edits,
 * so that no editor has to wait for that apply. `change` is called with the record as it is when its turn comes, which
 * may be different or gone by then. What `change` throws is the refusal.
 */
export async function amendRecord<N extends AmendedSection>(
  { store, onPromoted, engine }: Parts,
  section: N,
  id: string,
  change: Amending<N>,
): Promise<void> {
  const view = configView(store.running)
  for (;;) {
    await engine.idle()
    const isDone = await store.edit(() => {
      // An apply that another node leads holds this machine only for parts of its time.
      if (engine.busy || store.underWay() !== undefined) return { result: false }
      const before = view.get(section, id)
      const patch = change(before)
      assertRecord(section, applyPatch(before, patch))
      // Sound: the store holds records of this section only.
      const tell = async () => onPromoted([{ section, id, before, after: view.get(section, id) } as RecordChange])
      return {
        result: true,
        entry: { op: 'amend', key: { section, scope: CLUSTER, key: id }, patch },
        afterwards: tell,
      }
    })
    if (isDone) return
  }
}
