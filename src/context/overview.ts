import type { Attention, Overview } from '../model/overview.ts'

/** Something that needs attention, and the endpoint whose right reveals it; undefined: everybody may see it. */
export interface Noted extends Attention {
  readonly right?: string
}

/** The same for everybody, for a second. */
export interface OverviewReader {
  look(): Promise<Omit<Overview, 'attention' | 'more'> & { readonly noted: readonly Noted[] }>
}
