import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Edited, Held } from './checker.ts'
import type { ClientLine, Gap, ObserverCommand, ObserverLine, ObserverSettings } from './lines.ts'
import { program, type Site, type SiteNode, started } from './site.ts'

const OBSERVER = new URL('observer.ts', import.meta.url)
const CLIENT = new URL('client.ts', import.meta.url)
/** Longer than its previous request to a node may take. */
const ANSWER_MS = 300_000

type Told<All extends { readonly did: string }, T extends All['did']> = Extract<All, { readonly did: T }>

/** A program in a network of the site, which writes lines and receives words. */
class Inside<Line extends { readonly did: string }> {
  log = ''
  readonly #child: ChildProcess
  readonly #waiting = new Map<Line['did'], (line: Line) => void>()

  constructor(test: Test, network: string, argv: readonly string[], hear: (line: Line) => void) {
    const child = started(test, ['nsenter', `--net=${network}`, ...argv], (text) => (this.log += text))
    this.#child = child
    if (child.stdout === null) throw new Error('it has no output')
    createInterface({ input: child.stdout }).on('line', (text) => {
      // Sound: `lines.ts` defines what it writes.
      const line = JSON.parse(text) as Line
      hear(line)
      this.#waiting.get(line.did)?.(line)
      this.#waiting.delete(line.did)
    })
  }

  /** Resolves with the next such line, after sending a word. */
  async answer<T extends Line['did']>(did: T, word?: string): Promise<Told<Line, T>> {
    const said = new Promise<Line>((done) => this.#waiting.set(did, done))
    if (word !== undefined) this.#child.stdin?.write(`${word}\n`)
    const line = await Promise.race([said, sleep(ANSWER_MS, undefined, { ref: false })])
    if (line === undefined) throw new Error(`it does not say ${did}: ${this.log}`)
    // Sound: it waits for such a line.
    return line as Told<Line, T>
  }
}

/** Watches the network of one node, and edits there. */
export class Observer {
  readonly node: SiteNode
  readonly edits: Edited[] = []
  /** Number of applies by outcome. */
  readonly applies = new Map<string, number>()
  readonly held: Held[] = []
  /** Durations of answered edits, in milliseconds. */
  readonly took_ms: number[] = []
  readonly #inside: Inside<ObserverLine>

  constructor(test: Test, node: SiteNode, settings: ObserverSettings) {
    this.node = node
    const argv = [...program(OBSERVER), JSON.stringify(settings)]
    this.#inside = new Inside(test, node.machine.machine.network, argv, (line) => this.#hear(line))
  }

  /** The floating IPs that the node has. */
  get holds(): readonly string[] {
    return this.held.at(-1)?.held ?? []
  }

  ask<T extends ObserverLine['did']>(command: ObserverCommand, did: T): Promise<Told<ObserverLine, T>> {
    return this.#inside.answer(did, command)
  }

  #hear(line: ObserverLine): void {
    if (line.did === 'hold') this.held.push({ node: this.node.name, held: line.held, at_us: line.at_us })
    if (line.did === 'begin') this.edits.push({ edit: line.edit })
    if (line.did === 'end') {
      // It edits one record after another.
      this.edits.splice(-1, 1, { edit: line.edit, outcome: line.outcome, why: line.why })
      if (line.outcome === 'answered') this.took_ms.push(line.ms)
    }
    if (line.did === 'apply') this.applies.set(line.outcome, (this.applies.get(line.outcome) ?? 0) + 1)
  }
}

/** Sends requests to all floating IPs, on time even on a busy machine: gaps come from the nodes. */
export class Client {
  readonly gaps: Gap[] = []
  readonly #inside: Inside<ClientLine>

  constructor(test: Test, { lan }: Site) {
    this.#inside = new Inside(test, `/run/netns/${lan.name}`, ['chrt', '--rr', '10', ...program(CLIENT)], (line) => {
      if (line.did === 'gap') this.gaps.push(line)
    })
  }

  /** Resolves when each of them has answered. */
  async begun(): Promise<void> {
    await this.#inside.answer('begun')
  }

  count(): Promise<Told<ClientLine, 'count'>> {
    return this.#inside.answer('count', 'count')
  }
}
