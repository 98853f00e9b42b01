import { contentsView } from '../src/backup/contents-view.ts'
import type { ConfigView, SectionContents } from '../src/model/sections.ts'

export type { SectionContents as Records }

/** A whole configuration from lists of records. */
export const viewOf = (records: SectionContents): ConfigView => contentsView(records)
