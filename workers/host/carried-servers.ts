import { writeFile } from 'node:fs/promises'
import { carriedState, carriesServers, NO_STATE } from '../../src/drivers/haproxy/carried-state.ts'
import { sendCommand } from './control-socket.ts'
import { readText, removeDurably, replaceFileDurably } from './durable-files.ts'

/**
 * `show servers state` of 100,000 servers takes 0.15 s; on a machine that is many times too busy, seconds. Without the
 * answer, servers that go by names have no address until they are resolved again.
 */
const STATE_TIMEOUT_MS = 5_000

export interface CarriedServersPlaces {
  readonly masterSocket: string
  readonly configFile: string
  /** Which the configuration names. */
  readonly stateFile: string
}

/** What HAProxy knows of its servers, from one worker to the next. */
export class CarriedServers {
  readonly #places: CarriedServersPlaces

  constructor(places: CarriedServersPlaces) {
    this.#places = places
  }

  /** The new worker learns which servers are down, or a reload would send them traffic until their next check. */
  async over<T>(reload: () => Promise<T>): Promise<T> {
    const config = (await readText(this.#places.configFile)) ?? ''
    // Where nothing can be carried, HAProxy is not asked for all that it has: it takes a second for 100,000 servers.
    const isCarried = carriesServers(config)
    await (isCarried ? this.#write(config) : this.forget())
    try {
      return await reload()
    } finally {
      if (isCarried) await this.forget()
    }
  }

  /** Old news would mislead a HAProxy that starts later. One without the file only warns. */
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
      // A worker that does not answer is the more reason to reload; the new one finds out by its checks.
    }
  }
}
