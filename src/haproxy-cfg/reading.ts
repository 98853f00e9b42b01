import type { Line } from './lines.ts'

/** What became of a line that is not in the document as it stood in the file. */
export interface Remark {
  readonly line: number
  readonly text: string
  readonly why: string
}

/** What one file comes to, line by line. */
export class Reading {
  readonly #left = new Map<string, Remark>()
  readonly #remarks = new Map<string, Remark>()
  readonly #said = new Set<string>()

  /** Lines of which nothing is in the document. */
  get left(): readonly Remark[] {
    return inOrder(this.#left)
  }

  /** Lines that Fulcrum has its own word for, or that mean something else in it. */
  get remarks(): readonly Remark[] {
    return inOrder(this.#remarks)
  }

  leave(line: Line, why: string): void {
    add(this.#left, line, why)
  }

  remark(line: Line, why: string): void {
    add(this.#remarks, line, why)
  }

  /** What is so in all of the document is told of the first line that it is about. */
  remarkOnce(line: Line, why: string): void {
    if (!this.#said.has(why)) this.remark(line, why)
    this.#said.add(why)
  }
}

/** Told once, although many sections take the line over. */
const add = (all: Map<string, Remark>, { number, text }: Line, why: string) =>
  all.set(`${number} ${why}`, { line: number, text, why })

const inOrder = (all: ReadonlyMap<string, Remark>) => [...all.values()].toSorted((a, b) => a.line - b.line)

/** What a table says of a word of the file, whatever the word is. */
export const entryOf = <T>(table: Readonly<Record<string, T>>, word: string): T | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined

/** Says why a line is not understood. */
export class NotUnderstood extends Error {}

export const refuse = (why: string): never => {
  throw new NotUnderstood(why)
}
