import type { Line } from './lines.ts'

/** A remark on a line that is not in the document as it was in the file. */
export interface Remark {
  readonly line: number
  readonly text: string
  readonly why: string
}

/** The remarks on a file, line by line. */
export class Reading {
  readonly #left = new Map<string, Remark>()
  readonly #remarks = new Map<string, Remark>()
  readonly #said = new Set<string>()

  /** Lines of which nothing is in the document. */
  get left(): readonly Remark[] {
    return inOrder(this.#left)
  }

  /** Lines that Fulcrum expresses differently, or whose meaning changes. */
  get remarks(): readonly Remark[] {
    return inOrder(this.#remarks)
  }

  leave(line: Line, why: string): void {
    add(this.#left, line, why)
  }

  remark(line: Line, why: string): void {
    add(this.#remarks, line, why)
  }

  /** Reports a remark that applies to the whole document at the first line it concerns. */
  remarkOnce(line: Line, why: string): void {
    if (!this.#said.has(why)) this.remark(line, why)
    this.#said.add(why)
  }
}

/** Adds a remark once, although many sections may inherit the line. */
const add = (all: Map<string, Remark>, { number, text }: Line, why: string) =>
  all.set(`${number} ${why}`, { line: number, text, why })

const inOrder = (all: ReadonlyMap<string, Remark>) => [...all.values()].toSorted((a, b) => a.line - b.line)

/** Returns the entry of a table for a word of the file, which may be any text. */
export const entryOf = <T>(table: Readonly<Record<string, T>>, word: string): T | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined

/** Says why a line is not understood. */
export class NotUnderstood extends Error {}

export const refuse = (why: string): never => {
  throw new NotUnderstood(why)
}
