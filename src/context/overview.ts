import type { Attention, Overview } from '../model/overview.ts'

/** A matter that needs attention, and the endpoint whose right reveals it; undefined if everybody may see it. */
export interface Noted extends Attention {
  readonly right?: string
}

/** An overview that is the same for everybody and kept for a second. */
export interface OverviewReader {
  look(): Promise<Omit<Overview, 'attention' | 'more'> & { readonly noted: readonly Noted[] }>
}
