import { fstatSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { type Encoding, Failure, textIn } from './failure.ts'
import { printableLines, printableScreen } from './output.ts'

/** The terminal or its substitute: everything that a command reads and writes. */
export interface Terminal {
  out(text: string): void
  /** Writes foreign data unchanged; a terminal gets it without control characters. */
  data(text: string): void
  /** Writes remarks and questions; output for programs goes to `out`. */
  err(text: string): void
  /** Characters per line of `out`; undefined if it is no terminal. */
  readonly columns: number | undefined
  /** Present number of lines; undefined if it is no terminal. */
  readonly rows: number | undefined
  readonly hasColour: boolean
  /** Fails if nobody can answer. */
  ask(question: string, options?: { readonly isSecret?: boolean }): Promise<string>
  /** Returns the standard input; on a terminal, the user is told that `what` is being read. */
  input(what: string, encoding?: Encoding): Promise<string>
  /** Sets what to add when Ctrl-C ends the program: the state in which things are left, if it is unknown. */
  atCtrlC(remark: () => string | undefined): void
  /** For commands that run until they are ended: aborted by Ctrl-C, or when nothing reads `out` any more. */
  readonly interrupted: AbortSignal
}

type Streams = Pick<NodeJS.Process, 'stdin' | 'stdout' | 'stderr' | 'once'>

interface Ends {
  /** Ends the program at Ctrl-C, unless a command handles that itself. */
  readonly leave: () => void
  /** Called if output was lost, unless its reader closed it. */
  readonly lose: () => void
}

export function processTerminal(
  streams: Streams,
  env: Readonly<Record<string, string | undefined>>,
  { leave, lose }: Ends,
): Terminal {
  const { stdin, stdout, stderr } = streams
  const [interrupt, untaken] = [new AbortController(), new AbortController()]
  let isWatched = false
  let remark: () => string | undefined = () => undefined
  streams.once('SIGINT', () => {
    if (isWatched) return interrupt.abort()
    stderr.write(`fulcrum: ${['interrupted', remark()].filter((part) => part !== undefined).join('; ')}\n`)
    leave()
  })
  // The running command continues: its request to the daemon is carried out or refused as a whole.
  const refused = (error: unknown): void => {
    if (untaken.signal.aborted) return
    untaken.abort()
    if (Reflect.get(Object(error), 'code') === 'EPIPE') return
    lose()
    stderr.write(`fulcrum: the output is lost: ${error instanceof Error ? error.message : ''}\n`)
  }
  stdout.on('error', refused)
  stderr.on('error', () => undefined)
  const write = writerOf(stdout)
  const put = (text: string): void => {
    if (untaken.signal.aborted) return
    try {
      write(text)
    } catch (error) {
      refused(error)
    }
  }
  return {
    out: (text) => put(stdout.isTTY ? printableScreen(text) : text),
    data: (text) => put(stdout.isTTY ? printableLines(text) : text),
    err: (text) => void stderr.write(stderr.isTTY ? printableScreen(text) : text),
    // A serial console reports 0 for both, because its size is unknown.
    columns: stdout.isTTY && stdout.columns > 0 ? stdout.columns : undefined,
    get rows() {
      return stdout.isTTY && stdout.rows > 0 ? stdout.rows : undefined
    },
    hasColour: stdout.isTTY && !env['NO_COLOR'] && env['TERM'] !== 'dumb',
    atCtrlC: (told) => void (remark = told),
    get interrupted() {
      isWatched = true
      return AbortSignal.any([interrupt.signal, untaken.signal])
    },
    async ask(question, { isSecret = false } = {}) {
      if (!stdin.isTTY)
        throw new Failure(`${question.trim().replace(/:$/, '')} has to be typed, but standard input is not a terminal`)
      // readline echoes typed characters to its output, which discards them, so that a secret is not shown.
      const muted = new Writable({ write: (_chunk, _encoding, done) => done() })
      const lines = createInterface({ input: stdin, output: isSecret ? muted : stderr, terminal: true })
      const shown = printableLines(question)
      if (isSecret) stderr.write(shown)
      const wasWatched = isWatched
      isWatched = true
      try {
        return await lines.question(isSecret ? '' : shown, { signal: interrupt.signal })
      } catch {
        throw new Failure('interrupted', 130)
      } finally {
        isWatched = wasWatched
        if (isSecret) stderr.write('\n')
        lines.close()
      }
    },
    async input(what, encoding) {
      return stdin.isTTY ? await pasted({ stdin, stderr }, what) : textIn(await allOf(stdin), what, encoding)
    },
  }
}

async function allOf(stdin: Streams['stdin']): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stdin) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}

/** Reads lines until Ctrl-D, which ends these lines and not the input: there may be questions to answer. */
async function pasted({ stdin, stderr }: Pick<Streams, 'stdin' | 'stderr'>, what: string): Promise<string> {
  stderr.write(`Paste ${what}, then press Ctrl-D on a line of its own.\n`)
  const lines = createInterface({ input: stdin, output: stderr, terminal: true, historySize: 0 })
  let isInterrupted = false
  lines.once('SIGINT', () => {
    isInterrupted = true
    lines.close()
  })
  let text = ''
  for await (const line of lines) text += `${line}\n`
  if (isInterrupted) throw new Failure('interrupted', 130)
  return text
}

/** Writes to a file synchronously: if it runs out of space, Node's stream would report no error. */
function writerOf(stdout: Streams['stdout']): (text: string) => void {
  const { fd }: { readonly fd?: number } = stdout
  const isFile = fd !== undefined && fstatSync(fd).isFile()
  return isFile ? (text) => writeFileSync(fd, text) : (text) => void stdout.write(text)
}
