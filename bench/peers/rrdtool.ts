import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DataSet, Totals } from './data-set.ts'
import type { Footprint, Peer, Rate } from './peer.ts'
import { measureTalker, type PipeProgram } from './pipe-queries.ts'
import { diskBytes, writtenBytes } from './programs.ts'
import { command, fetchCommands, fillFile, startRrdtool, totalsOf } from './rrd-files.ts'
import type { Query } from './windows.ts'

/** One long-lived `rrdtool -`, not a process per query. */
export class Rrdtool implements Peer {
  readonly name = 'rrdtool'
  readonly asks = 'fetch, by pipe'
  readonly folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  readonly #program: string
  readonly #data: DataSet
  #pipe: PipeProgram

  constructor(program: string, data: DataSet) {
    this.#program = program
    this.#data = data
    this.#pipe = startRrdtool(program, this.folder)
  }

  async load(): Promise<Footprint> {
    for (const object of this.#data.objects) await fillFile(this.#pipe, this.#data, object)
    const written_bytes = writtenBytes(this.#pipe.pid)
    return { loadedBy: '400 updates a command, files made', written_bytes, kept_bytes: diskBytes(this.folder) }
  }

  async ask(query: Query): Promise<Totals> {
    const answers: string[] = []
    for (const line of fetchCommands(query)) answers.push(await command(this.#pipe, line.trimEnd()))
    return totalsOf(answers)
  }

  measure(queries: readonly Query[], seconds: number): Promise<Rate> {
    return measureTalker(this.#pipe, queries.map(fetchCommands), seconds)
  }

  async restart(isRight: (peer: Peer) => Promise<void>): Promise<number> {
    await this.#pipe.stop()
    const began_ms = performance.now()
    this.#pipe = startRrdtool(this.#program, this.folder)
    await isRight(this)
    return performance.now() - began_ms
  }

  async stop(): Promise<void> {
    await this.#pipe.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
