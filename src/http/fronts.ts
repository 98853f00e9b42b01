import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { newId } from '../base/ids.ts'
import { type Log, logDefect } from '../base/log.ts'
import { validity } from '../base/validity.ts'
import type { Descriptor, Speakers } from './acceptor.ts'
import type { FromFront, FrontOptions, ToFront } from './front-messages.ts'

const ENTRY = new URL('./front-thread.ts', import.meta.url)
/** How long each thread may take to close its connections and end before it is terminated. */
const END_MS = 3_000

/** The applications of one listener, one in each thread in front. */
export interface FrontSpeakers extends Speakers {
  /** Ends each connection with its next answer. */
  drain(): void
  /** Resolves when no answer is owed. */
  answered(): Promise<void>
}

type Opening = Omit<Extract<ToFront, { readonly type: 'open' }>, 'request'>
type Question = Opening | Omit<Extract<ToFront, { readonly type: 'answered' }>, 'request'>

type Said = Exclude<FromFront, { readonly type: 'defect' }>

/** The threads in front. They live as long as the daemon: if one ends early, the daemon ends too. */
export class Fronts {
  readonly #workers: readonly Worker[]
  readonly #waiting = new Map<number, (said: Said) => void>()
  readonly #log: Log
  #requests = 0
  #listeners = 0
  #isEnding = false

  /** `socketPath` is the address of the thread behind. */
  constructor(threads: number, socketPath: string, log: Log) {
    this.#log = log
    const start = newId().slice(0, 13)
    this.#workers = Array.from({ length: threads }, (_, place) => {
      const idPrefix = `${start}-f${place}`
      const workerData: FrontOptions = { socketPath, validity: validity.shared, threads, idPrefix }
      const worker = new Worker(ENTRY, { workerData, name: 'front' })
      worker.on('message', (said: FromFront) => this.#receive(said))
      worker.on('exit', (code) => {
        if (!this.#isEnding) throw new Error(`a thread in front has ended with ${code}`)
      })
      return worker
    })
  }

  listener(port: number): FrontSpeakers {
    const listener = ++this.#listeners
    const tellAll = (message: ToFront) => {
      for (const worker of this.#workers) worker.postMessage(message)
    }
    return {
      open: (tls) =>
        Promise.all(this.#workers.map((worker) => this.#open(worker, { type: 'open', listener, port, tls }))),
      drain: () => tellAll({ type: 'drain', listener }),
      answered: async () => {
        await Promise.all(this.#workers.map((worker) => this.#ask(worker, { type: 'answered', listener })))
      },
      close: () => tellAll({ type: 'close', listener }),
    }
  }

  async #open(worker: Worker, opening: Opening): Promise<Descriptor> {
    const said = await this.#ask(worker, opening)
    if (said.type === 'opened') return said.descriptor
    throw new Error(said.type === 'failed' ? said.reason : `a thread in front said ${said.type}`)
  }

  #ask(worker: Worker, question: Question): Promise<Said> {
    const request = ++this.#requests
    return new Promise((resolve) => {
      this.#waiting.set(request, resolve)
      worker.postMessage({ ...question, request } satisfies ToFront)
    })
  }

  #receive(said: FromFront): void {
    if (said.type === 'defect') {
      logDefect(this.#log, said.detail, { thread: 'front' })
      return
    }
    this.#waiting.get(said.request)?.(said)
    this.#waiting.delete(said.request)
  }

  /** Ends the threads. All listeners must be closed, and no connection may be passed any more. */
  async end(): Promise<void> {
    this.#isEnding = true
    await Promise.all(this.#workers.map(endWorker))
  }
}

async function endWorker(worker: Worker): Promise<void> {
  const exited = once(worker, 'exit')
  worker.postMessage({ type: 'end' } satisfies ToFront)
  const timer = setTimeout(() => void worker.terminate(), END_MS)
  await exited
  clearTimeout(timer)
}
