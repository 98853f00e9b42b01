import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { percentile } from '../measure.ts'
import type { Rate } from './peer.ts'

/** A program that answers requests one by one on a stream. */
export interface Talker {
  /** Resolves with the whole answer. */
  ask(request: string): Promise<Buffer>
}

interface Stream {
  readonly readable: NodeJS.ReadableStream
  readonly writable: NodeJS.WritableStream
}

/** `isWhole` examines everything received since the request. */
export class StreamTalker implements Talker {
  readonly #stream: Stream
  #parts: Buffer[] = []
  #waiting: { readonly resolve: (answer: Buffer) => void; readonly reject: (error: Error) => void } | undefined

  constructor(stream: Stream, isWhole: (parts: readonly Buffer[]) => boolean) {
    this.#stream = stream
    stream.readable.on('data', (part: Buffer) => {
      this.#parts.push(part)
      if (this.#waiting === undefined || !isWhole(this.#parts)) return
      const { resolve } = this.#waiting
      const answer = this.#parts.length === 1 ? part : Buffer.concat(this.#parts)
      this.#parts = []
      this.#waiting = undefined
      resolve(answer)
    })
    stream.readable.on('end', () => this.#waiting?.reject(new Error('the program ended')))
    stream.writable.on('error', (error: Error) => this.#waiting?.reject(error))
  }

  ask(request: string): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#stream.writable.write(request)
    })
  }
}

/** A program with requests on standard input and answers on standard output. It ends when its input does. */
export class PipeProgram implements Talker {
  readonly #child: ChildProcess
  readonly #talker: StreamTalker

  constructor(program: string, args: readonly string[], isWhole: (parts: readonly Buffer[]) => boolean) {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#child = child
    this.#talker = new StreamTalker({ readable: child.stdout, writable: child.stdin }, isWhole)
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  ask(request: string): Promise<Buffer> {
    return this.#talker.ask(request)
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.stdin?.end()
    await gone
  }
}

/** Returns whether the answer so far ends with these bytes, which may have arrived in two parts. */
export function endsWith(parts: readonly Buffer[], ending: string): boolean {
  return Buffer.concat(parts.slice(-2)).subarray(-ending.length).toString('latin1') === ending
}

/** Measures one client that sends the next request once the answer is complete; a query may be several requests. */
export async function measureTalker(
  talker: Talker,
  queries: readonly (readonly string[])[],
  seconds: number,
): Promise<Rate> {
  const times_ms: number[] = []
  const began_ms = performance.now()
  for (let n = 0; performance.now() - began_ms < seconds * 1_000; n += 1) {
    const asked_ms = performance.now()
    for (const request of queries[n % queries.length] ?? []) await talker.ask(request)
    times_ms.push(performance.now() - asked_ms)
  }
  const perSecond = times_ms.length / ((performance.now() - began_ms) / 1_000)
  return { perSecond, p50_ms: percentile(times_ms, 0.5), p99_ms: percentile(times_ms, 0.99) }
}
