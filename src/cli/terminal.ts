import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { Failure } from './failure.ts'

/** The terminal, or what stands in its place: everything that a command reads and writes. */
export interface Terminal {
  out(text: string): void
  /** Remarks and questions; what programs read is on `out`. */
  err(text: string): void
  /** Characters that fit into a line of `out`; undefined when it is no terminal. */
  readonly columns: number | undefined
  readonly hasColour: boolean
  /** Fails where nobody can answer. */
  ask(question: string, options?: { readonly isSecret?: boolean }): Promise<string>
  /** What was put into the standard input. */
  input(): Promise<string>
  /** Aborted by Ctrl-C. */
  readonly interrupted: AbortSignal
}

type Streams = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr' | 'once'>

/** `leave` ends the program at Ctrl-C, unless a command looks at it itself. */
export function processTerminal(
  streams: Streams,
  env: Readonly<Record<string, string | undefined>>,
  leave: () => void,
): Terminal {
  const { stdin, stdout, stderr } = streams
  const interrupt = new AbortController()
  let isWatched = false
  streams.once('SIGINT', () => (isWatched ? interrupt.abort() : leave()))
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    columns: stdout.isTTY ? stdout.columns : undefined,
    hasColour: stdout.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
    get interrupted() {
      isWatched = true
      return interrupt.signal
    },
    async ask(question, { isSecret = false } = {}) {
      if (!stdin.isTTY)
        throw new Failure(`${question.trim().replace(/:$/, '')} has to be typed, and this is no terminal`)
      // What is typed is echoed by readline to its output, which shows a secret to nobody.
      const muted = new Writable({ write: (_chunk, _encoding, done) => done() })
      const lines = createInterface({ input: stdin, output: isSecret ? muted : stderr, terminal: true })
      if (isSecret) stderr.write(question)
      isWatched = true
      try {
        return await lines.question(isSecret ? '' : question, { signal: interrupt.signal })
      } catch {
        throw new Failure('interrupted', 130)
      } finally {
        if (isSecret) stderr.write('\n')
        lines.close()
      }
    },
    async input() {
      if (stdin.isTTY) return ''
      const chunks: Buffer[] = []
      for await (const chunk of stdin) chunks.push(Buffer.from(chunk))
      return Buffer.concat(chunks).toString()
    },
  }
}
