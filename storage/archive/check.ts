import { TAIL_BLOCK_OBJECTS } from '../limits.ts'
import { ByteSource } from './bytes.ts'
import { objectKey } from './catalog.ts'
import { decodeBaseChunk, decodeCoarseChunk, readHead } from './chunk.ts'
import { decodeColumns } from './codec.ts'
import { consolidateBase, consolidatePoints, Points } from './consolidate.ts'
import { type ArchiveDatabases, chunkLookup, META_NEXT_ID, META_SCHEMA, openArchiveDatabases } from './databases.ts'
import { readTailPlace, SCHEMA_VERSION, TAIL_INSIDE_SCHEMA, UNSEALED_SCHEMA } from './databases.ts'
import { readGaps } from './gaps.ts'
import { chunkEndAfter, chunkEndAtOrBefore, coverageStart, keyFirst, keySecond } from './layout.ts'
import { readCatalog } from './reader.ts'
import { damageOf, readProgress } from './recover.ts'
import type { RingView } from './ring.ts'
import { blockOf, decodeBaseline, decodeBlock } from './tail.ts'
import { type FoundTail, NO_TAIL, readTail, type TailPart } from './tail-file.ts'
import { METRIC_COUNT, span_s, type Tier } from './tiers.ts'
import { TierReader } from './tier-reader.ts'
import { closeEnvironment } from '../env.ts'

/** A broken archive can have thousands of problems; the first ones are enough. */
const PROBLEMS_MAX = 100

/** An empty ring, so that the check reads only what is stored. */
const NO_RING: RingView = { hwm: () => 0, oldest: () => Number.MAX_SAFE_INTEGER, copy: () => true }

class Checker {
  readonly problems: string[] = []
  readonly #databases: ArchiveDatabases
  readonly #tail: FoundTail
  /** End of the seconds whose chunks are stored. */
  readonly #hwm_s: number
  readonly #reader: TierReader
  readonly #values: Float64Array
  readonly #stored = new Points()
  readonly #computed = new Points()
  readonly #finer = new Points()
  #ids = new Set<number>()
  /** Chunks whose contents were given up as damaged. */
  readonly #lost = new Set<string>()

  constructor(databases: ArchiveDatabases) {
    this.#databases = databases
    const place = readTailPlace(databases)
    this.#tail = place === undefined ? NO_TAIL : readTail(databases.directory, place)
    this.#hwm_s = readProgress(databases, this.#tail).stored_s
    this.#reader = new TierReader(databases.table, chunkLookup(databases), NO_RING)
    this.#values = new Float64Array(METRIC_COUNT * Math.max(...databases.table.slice(0, 2).map(span_s)))
  }

  #problem(text: string): void {
    if (this.problems.length < PROBLEMS_MAX) this.problems.push(text)
  }

  run(): void {
    const schema = this.#databases.schema.get(META_SCHEMA)
    if (schema === undefined) return this.#problem('meta: no schema')
    if (![SCHEMA_VERSION, TAIL_INSIDE_SCHEMA, UNSEALED_SCHEMA].includes(keyFirst(schema)))
      return this.#problem(`meta: schema ${keyFirst(schema)}`)
    this.#catalog()
    this.#gaps()
    if (keyFirst(schema) === SCHEMA_VERSION) this.#tailFiles()
    else this.#formerTail()
    for (const [index, tier] of this.#databases.table.entries()) {
      this.#tier(index, tier)
      this.#noteDamage(index, tier.database)
    }
    for (const place of this.#databases.damage.places) this.#problem(`${place}: damaged`)
  }

  #catalog(): void {
    const nextId = keySecond(this.#databases.meta.get(META_NEXT_ID) ?? new Uint8Array(8))
    const objects = readCatalog(this.#databases)
    const keys = new Set(objects.map((object) => objectKey(object.kind, object.name, object.backend)))
    if (keys.size !== objects.length) this.#problem('catalog: two objects with one name')
    if (objects.length !== [...this.#databases.catalog.getKeys()].length)
      this.#problem('catalog: an entry cannot be read')
    for (const { id } of objects)
      if (id >= nextId) this.#problem(`catalog: object ${id} is not below the next number ${nextId}`)
    this.#ids = new Set(objects.map((object) => object.id))
  }

  #gaps(): void {
    let before_s = 0
    for (const { from_s, to_s } of readGaps(this.#databases.meta)) {
      if (from_s < before_s || to_s <= from_s) this.#problem(`meta: a gap from ${from_s} to ${to_s}`)
      before_s = to_s
    }
  }

  #tailFiles(): void {
    for (const place of damageOf(this.#tail, this.#hwm_s)) this.#databases.damage.report(place)
    const blocks = new Set([...this.#ids].map(blockOf))
    for (const record of this.#tail.records) {
      for (const part of record.parts())
        this.#readable(`tail ${part.second}/${part.block}`, () => this.#part(part, record.to_s, blocks))
    }
  }

  #part({ kind, second, block, bytes }: TailPart, to_s: number, blocks: ReadonlySet<number>): void {
    const where = `tail ${second}/${block}`
    const row = new Float64Array(METRIC_COUNT * TAIL_BLOCK_OBJECTS)
    if (!blocks.has(block)) this.#problem(`${where}: no object of this block in the catalog`)
    if (kind === 'baseline') {
      if (decodeBaseline(bytes, row).second > to_s) this.#problem(`${where}: counters of the future`)
      return
    }
    if (second >= to_s) this.#problem(`${where}: not before the high-water mark ${to_s}`)
    const source = new ByteSource(bytes)
    decodeBlock(source, row, METRIC_COUNT)
    if (source.at !== bytes.length) this.#problem(`${where}: ${bytes.length} bytes, ${source.at} read`)
    this.#integers(where, row)
  }

  /**
   * Checks the crash tail of an earlier version in LMDB before it is moved; damaged rows are noted while they are read.
   */
  #formerTail(): void {
    const { formerTail, formerBaseline } = this.#databases
    for (const rows of [formerTail, formerBaseline]) for (const { key } of rows.getRange()) rows.get(key)
  }

  #integers(where: string, values: Float64Array): void {
    const wrong = values.find((value) => value === value && (value < 0 || !Number.isSafeInteger(value)))
    if (wrong !== undefined) this.#problem(`${where}: value ${wrong}`)
  }

  /** Excludes a damaged chunk from the comparison with coarser tiers. */
  #noteDamage(index: number, database: string): void {
    for (const place of this.#databases.damage.places) {
      const [name, at] = place.split(' ')
      if (name === database) this.#lost.add(`${index} ${at}`)
    }
  }

  #tier(index: number, tier: Tier): void {
    for (const { key, value } of this.#databases.tiers[index]?.getRange() ?? []) {
      const end = keyFirst(key)
      const id = keySecond(key)
      const where = `${tier.name} ${end}/${id}`
      if (end > this.#hwm_s) this.#problem(`${where}: ends after the high-water mark ${this.#hwm_s}`)
      if (!this.#ids.has(id)) this.#problem(`${where}: no such object in the catalog`)
      if (chunkEndAtOrBefore(tier, id, end) !== end) this.#problem(`${where}: not at the object's phase`)
      if (value.length === 0) {
        this.#lost.add(`${index} ${end}/${id}`)
        continue
      }
      const head = readHead(new ByteSource(value))
      if (head.first_s !== end - span_s(tier) || head.n !== tier.points)
        this.#problem(`${where}: key and value disagree`)
      else this.#readable(where, () => this.#chunk(where, value, index, tier, id, end))
    }
  }

  #chunk(where: string, value: Uint8Array, index: number, tier: Tier, id: number, end_s: number): void {
    if (index === 0) this.#baseChunk(where, value)
    else this.#coarseChunk(where, value, index, tier, id, end_s)
  }

  /** Reports a decoding error as a problem, because a row without a seal may hold anything. */
  #readable(where: string, look: () => void): void {
    try {
      look()
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      this.#problem(`${where}: ${error.message}`)
    }
  }

  #baseChunk(where: string, value: Uint8Array): void {
    const n = decodeBaseChunk(value, this.#values)
    const source = new ByteSource(value)
    readHead(source)
    decodeColumns(source, this.#values, n, METRIC_COUNT)
    if (source.at !== value.length) this.#problem(`${where}: ${value.length} bytes, ${source.at} read`)
    this.#integers(where, this.#values.subarray(0, n * METRIC_COUNT))
  }

  #coarseChunk(where: string, value: Uint8Array, index: number, tier: Tier, id: number, end_s: number): void {
    const read = decodeCoarseChunk(value, this.#stored)
    if (read !== value.length) this.#problem(`${where}: ${value.length} bytes, ${read} read`)
    const { count, sum, minimum, maximum, n } = this.#stored
    for (let i = 0; i < n * METRIC_COUNT; i++) {
      if (!possible(tier, count[i] ?? 0, sum[i] ?? 0, minimum[i] ?? 0, maximum[i] ?? 0)) {
        this.#problem(
          `${where}: point ${i} has count ${count[i]} sum ${sum[i]} minimum ${minimum[i]} maximum ${maximum[i]}`,
        )
      }
    }
    this.#recompute(where, index, tier, id, end_s)
  }

  /** Checks that a coarse chunk equals the same span of the next finer tier, if that is still complete. */
  #recompute(where: string, index: number, tier: Tier, id: number, end_s: number): void {
    const finer = this.#databases.table[index - 1]
    if (finer === undefined) return
    const start = end_s - span_s(tier)
    if (start < coverageStart(finer, this.#hwm_s)) return
    if (chunkEndAtOrBefore(finer, id, this.#hwm_s) < end_s) return
    for (let at = chunkEndAfter(finer, id, start); at - span_s(finer) < end_s; at += span_s(finer)) {
      if (this.#lost.has(`${index - 1} ${at}/${id}`)) return
    }
    this.#computed.reset(tier.points)
    if (index === 1) {
      this.#reader.readBase({ id, slot: -1 }, start, end_s, this.#hwm_s, this.#values)
      consolidateBase(this.#values, end_s - start, tier.step_s, this.#computed, 0)
    } else {
      this.#reader.readCoarse(index - 1, { id, slot: -1 }, start, end_s, this.#hwm_s, this.#finer)
      consolidatePoints(this.#finer, tier.step_s / finer.step_s, this.#computed, 0)
    }
    const size = this.#stored.n * METRIC_COUNT
    for (const column of ['count', 'sum', 'minimum', 'maximum'] as const) {
      const stored = this.#stored[column]
      const computed = this.#computed[column]
      for (let i = 0; i < size; i++) {
        if (stored[i] === computed[i]) continue
        return this.#problem(`${where}: ${column} ${i} is ${stored[i]}, the finer tier says ${computed[i]}`)
      }
    }
  }
}

function possible(tier: Tier, count: number, sum: number, minimum: number, maximum: number): boolean {
  if (count === 0) return sum === 0 && minimum === 0 && maximum === 0
  if (count > tier.step_s || minimum > maximum) return false
  return minimum * count <= sum && sum <= maximum * count
}

/** Verifies every invariant of an open archive. Returns `[]` when all hold. */
export function checkArchive(databases: ArchiveDatabases): readonly string[] {
  const checker = new Checker(databases)
  checker.run()
  return checker.problems
}

/** Verifies an archive that no process has open; for operators. */
export async function checkArchiveDirectory(directory: string): Promise<readonly string[]> {
  const databases = openArchiveDatabases(directory)
  const problems = checkArchive(databases)
  await closeEnvironment(databases.environment)
  return problems
}
