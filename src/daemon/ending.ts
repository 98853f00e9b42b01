import type { Starter } from './starter.ts'

/**
 * Resolves with the reason why the daemon ends. Further signals change nothing: Ctrl-C comes once from the terminal and
 * once more from npm, and the second one must not keep the daemon from ending the programs that it has started. A
 * signal during the start waits until there is something to end.
 */
export function endingSignal(starter?: Starter): Promise<string> {
  // A closed terminal, or a `tee` that received the same Ctrl-C, no longer reads: this must not crash the daemon while
  // it ends.
  for (const output of [process.stdout, process.stderr]) output.on('error', () => undefined)
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, resolve)
    void starter?.gone.then(() => resolve('its parent process has ended'))
  })
}
