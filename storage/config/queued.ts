/** The promise of the whole batch reports a failure; the promises of its parts would report it again, unhandled. */
export function queued(part: Promise<unknown>): void {
  part.catch(() => undefined)
}
