import type { Starter } from './starter.ts'

/**
 * Resolves with what ends the daemon. More signals change nothing: Ctrl-C comes once from the terminal and once more
 * from npm, and the second one must not keep the daemon from ending what it has started. One that comes during the
 * start waits until there is something to end.
 */
export function endingSignal(starter?: Starter): Promise<string> {
  // A terminal that was closed, or a `tee` that had the same Ctrl-C, reads no more: that is no reason to fall over on
  // the way out.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, resolve)
    void starter?.gone.then(() => resolve('its starter is gone'))
  })
}
