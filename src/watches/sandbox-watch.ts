import { programBackends } from '../drivers/haproxy/checks.ts'
import { isProgram } from '../drivers/keepalived/checks.ts'
import type { Events } from '../events/events.ts'
import type { Log } from '../base/log.ts'
import type { MachineFacts } from '../model/machine-facts.ts'
import type { ConfigView } from '../model/sections.ts'

/** Each check is a short-lived systemd unit, and some lines in the journal. */
const LOOK_EVERY_MS = 300_000
/** Exit code of the sandbox where none can be created. */
const IMPOSSIBLE = 125

interface SandboxWatchParts {
  readonly running: ConfigView
  readonly facts: Pick<MachineFacts, 'tryCheck'>
  readonly events: Pick<Events, 'publish'>
  readonly log: Pick<Log, 'warn'>
}

/**
 * Watches whether health checks can run. Where no sandbox can be created any more, scripts are not run and their checks
 * pass, so that no server goes down because of the checking machine. This is reported here, once when it begins and
 * once when it ends.
 */
export class SandboxWatch {
  readonly #parts: SandboxWatchParts
  #timer: NodeJS.Timeout | undefined
  #isPossible = true

  constructor(parts: SandboxWatchParts) {
    this.#parts = parts
  }

  start(): void {
    this.#timer = setInterval(() => void this.look(), LOOK_EVERY_MS).unref()
    void this.look()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Tests the sandbox with a check that contacts no server. */
  async look(): Promise<void> {
    const { running, facts, events, log } = this.#parts
    if (!usesPrograms(running)) return
    try {
      const { exitCode, output } = await facts.tryCheck({ script: '#!/bin/sh\n', ip: '127.0.0.1', port: 1, flags: [] })
      const isPossible = exitCode === 0
      if (isPossible === this.#isPossible || (!isPossible && exitCode !== IMPOSSIBLE)) return
      this.#isPossible = isPossible
      const state = isPossible ? 'health checks run' : 'health checks do not run'
      if (!isPossible)
        log.warn('no sandbox is possible: script health checks pass without being run', { reason: output })
      events.publish('node', isPossible ? { state } : { state, reason: output })
    } catch (error) {
      // Other checks are being tried out at this moment; the next look is soon.
      log.warn('the sandbox of health checks could not be tested', { reason: String(error) })
    }
  }
}

function usesPrograms(running: ConfigView): boolean {
  if (programBackends(running).length > 0) return true
  return [...running.list('l4Backends')].some(({ healthCheck }) => isProgram(healthCheck))
}
