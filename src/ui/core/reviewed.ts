/** What somebody has looked at goes live, and nothing that came since. */

interface Waiting {
  readonly id: string
  readonly by: string
  readonly alsoBy: readonly string[]
}

/** Nobody else has had a hand in it. */
export const isOnlyOf = ({ by, alsoBy }: Omit<Waiting, 'id'>, email: string | undefined): boolean =>
  by === email && alsoBy.length === 0

/** The API takes no more ids. So many changes nobody has looked at one by one. */
const IDS_MAX = 10_000

interface Terms {
  /** Only pending changes that nobody else has touched. */
  readonly isMine: boolean
  /** Seconds; 0: it stays without a confirmation. */
  readonly confirmWithin: number
  readonly comment: string
  readonly isAccepted: boolean
}

/** The body of an apply of these changes. */
export function applyBody(
  shown: readonly Pick<Waiting, 'id'>[],
  { isMine, confirmWithin, comment, isAccepted }: Terms,
) {
  return {
    ...(shown.length <= IDS_MAX ? { changes: shown.map(({ id }) => id) } : isMine ? { mine: true } : {}),
    ...(confirmWithin === 0 ? {} : { confirmWithin }),
    ...(comment === '' ? {} : { comment }),
    ...(isAccepted ? {} : { refuseWarnings: true }),
  }
}

/** The same for the same warnings: what was meant with some holds for no others. */
export const toldBy = (warnings: readonly { readonly code: string; readonly message: string }[]): string =>
  warnings
    .map(({ code, message }) => `${code} ${message}`)
    .toSorted()
    .join('\n')
