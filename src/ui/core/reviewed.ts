/** Exactly the changes that the user has reviewed go live, and none that arrived since. */

interface Waiting {
  readonly id: string
  readonly by: string
  readonly alsoBy: readonly string[]
}

/** Whether nobody else has edited the change. */
export const isOnlyOf = ({ by, alsoBy }: Omit<Waiting, 'id'>, email: string | undefined): boolean =>
  by === email && alsoBy.length === 0

/** The API accepts at most this many ids. Nobody reviews more changes one by one. */
const IDS_MAX = 10_000

interface Terms {
  /** Whether only pending changes that nobody else has touched are applied. */
  readonly isMine: boolean
  /** Seconds; 0 keeps it without a confirmation. */
  readonly confirmWithin: number
  readonly comment: string
  readonly isAccepted: boolean
}

/** Returns the body of an apply of these changes. */
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

/** Identifies a set of warnings: accepting one set does not accept another. */
export const toldBy = (warnings: readonly { readonly code: string; readonly message: string }[]): string =>
  warnings
    .map(({ code, message }) => `${code} ${message}`)
    .toSorted()
    .join('\n')
