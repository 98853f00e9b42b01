import type { Log } from '../base/log.ts'
import { SHARED } from '../model/node.ts'
import type { ConfigView } from '../model/sections.ts'
import { Subagent } from './agentx/subagent.ts'
import { type FiguresSource, FULCRUM_OID, fulcrumMib } from './fulcrum-mib.ts'

const LOOK_EVERY_MS = 1000

export interface FulcrumAgentOptions {
  readonly running: ConfigView
  readonly figures: FiguresSource
  /** Unix socket of the machine's SNMP agent. */
  readonly path: string
  readonly log: Log
}

/** Offers this daemon's figures to the machine's SNMP agent while the running configuration enables it. */
export class FulcrumAgent {
  readonly #running: ConfigView
  readonly #subagent: () => Subagent
  #active: Subagent | undefined
  #timer: NodeJS.Timeout | undefined

  constructor({ running, figures, path, log }: FulcrumAgentOptions) {
    this.#running = running
    const description = `Fulcrum ${figures.version}`
    this.#subagent = () => new Subagent({ path, log, description, subtree: FULCRUM_OID, mib: fulcrumMib(figures) })
  }

  start(): void {
    this.#look()
    this.#timer = setInterval(() => this.#look(), LOOK_EVERY_MS).unref()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#end()
  }

  #look(): void {
    const settings = this.#running.get('snmpSettings', SHARED)
    const isOn = settings !== undefined && settings.serviceIpId !== '' && (settings.enabledV2 || settings.enabledV3)
    if (!isOn) this.#end()
    else if (this.#active === undefined) {
      this.#active = this.#subagent()
      this.#active.start()
    }
  }

  #end(): void {
    this.#active?.stop()
    this.#active = undefined
  }
}
