import { patched } from '../../storage/config/amendment.ts'
import type { ConfigWriter } from '../../storage/config/config-store.ts'
import type { RecordChange } from '../model/sections.ts'
import type { Editing } from './editing.ts'
import type { AmendedSection, Amending, ApplyParts } from './apply-parts.ts'
import { assertRecord } from './record-schema.ts'
import { CLUSTER, configView } from './views.ts'

/** Changes a record of somebody's account while nothing else changes it, and tells who has to know. */
export async function amendRecord<N extends AmendedSection>(
  { store, onPromoted }: Pick<ApplyParts, 'store' | 'onPromoted'>,
  section: N,
  id: string,
  change: Amending<N>,
  writer: Pick<ConfigWriter, 'amend'>,
): Promise<void> {
  const view = configView(store.running)
  const before = view.get(section, id)
  const patch = change(before)
  assertRecord(section, patched(before, patch))
  await writer.amend({ section, scope: CLUSTER, key: id }, patch)
  // Sound: the store holds records of this section only.
  await onPromoted([{ section, id, before, after: view.get(section, id) } as RecordChange])
}

/** Between edits, and not while an apply is under way: for that, nobody who edits must wait. */
export async function amendBetween(
  engine: { readonly busy: boolean; idle(): Promise<void> },
  editing: Pick<Editing, 'between'>,
  amend: (writer: ConfigWriter) => Promise<void>,
): Promise<void> {
  for (;;) {
    await engine.idle()
    const isDone = await editing.between(async (writer) => {
      if (engine.busy) return false
      await amend(writer)
      return true
    })
    if (isDone) return
  }
}
