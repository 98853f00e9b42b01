import type { DesiredNetwork } from '../../../src/drivers/host.ts'
import { readText, removeDurably, replaceFileDurably } from '../durable-files.ts'
import type { Family } from './kernel-state.ts'

/** An address that this daemon added; the kernel does not say who added an address. */
export interface OwnedAddress {
  readonly linkId: string
  readonly ip: string
  readonly prefix: number
}

/** A foreign route whose place one of ours took. */
export interface DisplacedRoute {
  readonly key: string
  readonly family: Family
  /** Arguments of `ip route replace`. */
  readonly text: string
}

export interface Memory {
  readonly addresses: readonly OwnedAddress[]
  readonly displaced: readonly DisplacedRoute[]
  /** The network that was settled last, for the next boot. */
  readonly wanted: DesiredNetwork
}

const MODE = 0o600

/** Path of the memory in the folder for facts about the machine. */
export const networkFile = (folder: string): string => `${folder}/network.json`

export const NOTHING: DesiredNetwork = { addresses: [], routes: [], rules: [] }
export const isNothing = ({ addresses, routes, rules }: DesiredNetwork): boolean =>
  addresses.length + routes.length + rules.length === 0

/** The ownership of addresses and routes, in one durable file. Without a file, nothing of the network is ours. */
export class NetworkMemory {
  readonly #path: string
  #text: string | undefined

  constructor(path: string) {
    this.#path = path
  }

  async load(): Promise<Memory | undefined> {
    this.#text = await readText(this.#path)
    if (this.#text === undefined) return undefined
    const { start, ...stored } = JSON.parse(this.#text) as Memory & { readonly start: string }
    // After a reboot nothing in the kernel is ours yet, and displaced routes have returned on their own.
    return start === (await startId()) ? stored : { ...stored, addresses: [], displaced: [] }
  }

  /** Durable when it resolves. Writes nothing if nothing changed. */
  async save(memory: Memory): Promise<void> {
    const text = `${JSON.stringify({ start: await startId(), ...memory }, undefined, 1)}\n`
    if (text === this.#text) return
    await replaceFileDurably(this.#path, text, MODE)
    this.#text = text
  }

  async forget(): Promise<void> {
    if (this.#text === undefined) return
    await removeDurably(this.#path)
    this.#text = undefined
  }
}

/** Identifies the current boot of the machine. */
async function startId(): Promise<string> {
  return ((await readText('/proc/sys/kernel/random/boot_id')) ?? '').trim()
}
