import type { Line } from './lines.ts'

/** What became of a line that is not in the document as it stood in the file. */
export interface Remark {
  readonly line: number
  readonly text: string
  readonly why: string
}

/** What one file comes to, line by line. */
export class Reading {
  /** Lines of which nothing is in the document. */
  readonly left: Remark[] = []
  /** Lines that Fulcrum has its own word for, or that mean something else in it. */
  readonly remarks: Remark[] = []

  leave({ number, text }: Line, why: string): void {
    this.left.push({ line: number, text, why })
  }

  remark({ number, text }: Line, why: string): void {
    this.remarks.push({ line: number, text, why })
  }
}

/** What a table says of a word of the file, whatever the word is. */
export const entryOf = <T>(table: Readonly<Record<string, T>>, word: string): T | undefined =>
  Object.hasOwn(table, word) ? table[word] : undefined

/** Says why a line is not understood. */
export class NotUnderstood extends Error {}

export const refuse = (why: string): never => {
  throw new NotUnderstood(why)
}
