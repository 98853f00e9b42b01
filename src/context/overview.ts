import type { Attention, Overview } from '../model/overview.ts'

/** Something that needs a person, and the endpoint whose right tells of it; undefined: it is for everybody. */
export interface Noted extends Attention {
  readonly right?: string
}

/** The same for everybody, for a second. */
export interface OverviewReader {
  look(): Promise<Omit<Overview, 'attention' | 'more'> & { readonly noted: readonly Noted[] }>
}
