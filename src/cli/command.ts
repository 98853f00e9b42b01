import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { secondsOf } from '../base/durations.ts'
import { Connection, Refusal } from './connection.ts'
import { inOwnWords } from './own-words.ts'
import { type Context, Contexts } from './contexts.ts'
import { type Encoding, Failure, textIn, unread } from './failure.ts'
import { printable } from './output.ts'
import type { Terminal } from './terminal.ts'

/** The environment of every command. */
export interface Surroundings {
  readonly terminal: Terminal
  readonly env: Readonly<Record<string, string | undefined>>
  /** Sockets at which a daemon on this machine can be reached without a login. */
  readonly sockets: readonly string[]
}

/** Options that every command has. */
export interface Common {
  readonly context?: string
  readonly json?: boolean
}

/** One run of the program: its connection, and its output. */
export class Run {
  readonly terminal: Terminal
  readonly env: Surroundings['env']
  readonly contexts: Contexts
  exitCode = 0
  #connection: Connection | undefined

  constructor({ terminal, env, sockets }: Surroundings) {
    this.terminal = terminal
    this.env = env
    this.contexts = new Contexts(env, sockets)
  }

  contextOf({ context }: Common): Context {
    return this.contexts.chosen(context)
  }

  connect(common: Common): Connection {
    if (this.#connection !== undefined) return this.#connection
    const connection = new Connection(this.contextOf(common))
    this.terminal.atCtrlC(() => connection.doubt)
    this.#connection = connection
    return connection
  }

  close(): void {
    this.#connection?.close()
  }

  /** Prints JSON for programs. */
  json(value: unknown): void {
    this.terminal.data(`${JSON.stringify(value, null, 2)}\n`)
  }

  /** Prints the outcome: a sentence for people, or data for programs. */
  told({ json }: Common, sentence: string, data: object): void {
    if (json === true) this.json(data)
    else this.terminal.out(`${printable(inOwnWords(sentence))}.\n`)
  }

  /** Asks a question. If nobody can answer, the failure says what to do `instead`. */
  ask(question: string, instead: string, options?: { readonly isSecret: boolean }): Promise<string> {
    return this.terminal.ask(question, options).catch((error: unknown) => {
      if (error instanceof Failure && error.exitCode !== 130)
        throw new Failure(`${instead} when input is not a terminal`)
      throw error
    })
  }

  /**
   * Returns a secret from the environment or the keyboard, never from the command line, which everybody on the machine
   * can see. A pipeline sets variables without a value to the empty text, so that counts as unset. A new secret is
   * typed twice, because a typing error would make it unknown to everybody.
   */
  async secret(question: string, variable: string, { isNew = false } = {}): Promise<string> {
    const given = this.env[variable] ?? ''
    if (given !== '') return given
    const typed = await this.ask(question, `set ${variable}`, { isSecret: true })
    if (isNew && typed !== (await this.terminal.ask('Repeat: ', { isSecret: true })))
      throw new Failure('the two entries differ')
    return typed
  }

  /** Asks before something that is hard to undo; `--yes`, or the option named in `instead`, answers the question. */
  async agree(
    question: string,
    isYes: boolean | undefined,
    { answer = 'y', instead = 'use --yes' }: { readonly answer?: string; readonly instead?: string } = {},
  ): Promise<void> {
    if (isYes === true) return
    const said = await this.ask(`${question} [${answer}/N] `, instead)
    const typed = said.trim().toLowerCase()
    if (typed !== answer && !(answer === 'y' && typed === 'yes')) throw new Failure('cancelled; nothing was changed')
  }
}

/** Returns the options of the command and of the program. */
export const optionsOf = <T extends object>(command: Command): T & Common => command.optsWithGlobals<T & Common>()

/** Collects the values of an option that may be repeated. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [...before, value]

export function readText(path: string, encoding?: Encoding): string {
  let bytes: Buffer
  try {
    bytes = readFileSync(path)
  } catch (error) {
    throw unread(path, error)
  }
  return textIn(bytes, path, encoding)
}

/** Parses the count that an option has. */
export function countIn(text: string, option: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new Failure(`${option} ${text} is not a number from 1 to 9999`)
  return Number(text)
}

/** Parses a duration such as `90`, `5m` or `7d` into seconds. */
export function secondsIn(text: string): number {
  const seconds = secondsOf(text)
  if (seconds === undefined) throw new Failure(`${text} is not a duration: use for example 90s, 5m, 2h or 7d`)
  return seconds
}

/** For requests that are useful if granted, but not a condition of the command. */
export function undefinedIfDenied(error: unknown): undefined {
  if (error instanceof Refusal && error.code === 'PERMISSION_DENIED') return undefined
  throw error
}
