import { programBackends } from '../drivers/haproxy/checks.ts'
import { isProgram } from '../drivers/keepalived/checks.ts'
import type { Events } from '../events/events.ts'
import type { Log } from '../base/log.ts'
import type { MachineFacts } from '../model/machine-facts.ts'
import type { ConfigView } from '../model/sections.ts'

/** Each look is a unit of systemd for a moment, and lines in the journal. */
const LOOK_EVERY_MS = 300_000
/** What the sandbox ends with where there can be none. */
const IMPOSSIBLE = 125

interface SandboxWatchParts {
  readonly running: ConfigView
  readonly facts: Pick<MachineFacts, 'tryCheck'>
  readonly events: Pick<Events, 'publish'>
  readonly log: Pick<Log, 'warn'>
}

/**
 * Where no sandbox can be made any more, scripts are not run and their checks pass, so that no server goes down because
 * of the machine that asks. That nobody checks is told here: once when it begins and once when it ends.
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

  /** Tries it with a check that asks nobody anything. */
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
        log.warn('there can be no sandbox: health checks that are scripts pass unasked', { reason: output })
      events.publish('node', isPossible ? { state } : { state, reason: output })
    } catch (error) {
      // Somebody else tries checks at this moment; the next look is soon.
      log.warn('the sandbox of health checks was not tried', { reason: String(error) })
    }
  }
}

function usesPrograms(running: ConfigView): boolean {
  if (programBackends(running).length > 0) return true
  return [...running.list('l4Backends')].some(({ healthCheck }) => isProgram(healthCheck))
}
