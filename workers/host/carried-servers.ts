import { writeFile } from 'node:fs/promises'
import { carriedState, carriesServers, NO_STATE } from '../../src/drivers/haproxy/carried-state.ts'
import { sendCommand } from './control-socket.ts'
import { readText, removeDurably, replaceFileDurably } from './durable-files.ts'

/**
 * `show servers state` of 100,000 servers takes 0.15 s; on a heavily overloaded machine, seconds. Without the answer,
 * servers with host names have no address until they are resolved again.
 */
const STATE_TIMEOUT_MS = 5_000

export interface CarriedServersPlaces {
  readonly masterSocket: string
  readonly configFile: string
  /** State file that the configuration names. */
  readonly stateFile: string
}

/** Carries the state of HAProxy's servers from one worker to the next. */
export class CarriedServers {
  readonly #places: CarriedServersPlaces

  constructor(places: CarriedServersPlaces) {
    this.#places = places
  }

  /** Tells the new worker which servers are down; otherwise a reload would send them traffic until their next check. */
  async over<T>(reload: () => Promise<T>): Promise<T> {
    const config = (await readText(this.#places.configFile)) ?? ''
    // If nothing can be carried, HAProxy is not asked for its state, which takes a second for 100,000 servers.
    const isCarried = carriesServers(config)
    await (isCarried ? this.#write(config) : this.forget())
    try {
      return await reload()
    } finally {
      if (isCarried) await this.forget()
    }
  }

  /** Empties the file: stale state would mislead a later start. HAProxy only warns if the file is missing. */
  async forget(): Promise<void> {
    const { stateFile } = this.#places
    try {
      await replaceFileDurably(stateFile, NO_STATE, 0o600)
    } catch {
      await removeDurably(stateFile)
    }
  }

  async #write(config: string): Promise<void> {
    const { masterSocket, stateFile } = this.#places
    try {
      const table = await sendCommand(masterSocket, '@1 show servers state', STATE_TIMEOUT_MS)
      await writeFile(stateFile, carriedState(table, config), { mode: 0o600 })
    } catch {
      // A worker that does not answer is one more reason to reload; the new one learns the state from its checks.
    }
  }
}
