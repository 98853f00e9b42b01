import { constants } from 'node:fs'
import { open, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Log } from '../base/log.ts'
import { createDurably, hasCode, openFolder, removeDurably } from './durable-file.ts'
import { isBackupName } from '../backup-file/names.ts'
import type { BackupHead } from '../backup-file/reading.ts'

export const BACKUP_BYTES_MAX = 64 * 1024 * 1024

/** File that caches the heads of the backups. */
const HEADS = '.heads.json'

export interface Kept {
  readonly file: string
  readonly head: BackupHead
}

interface Known {
  readonly mtime_ms: number
  readonly size: number
  /** Undefined if something is wrong with the file. */
  readonly head: BackupHead | undefined
}

/**
 * The backups of one folder. Only the daemon writes there; a file that somebody adds is found, and listed if it is
 * valid.
 */
export class BackupFolder {
  readonly #folder: string
  readonly #describe: (raw: Uint8Array) => Promise<BackupHead | undefined>
  readonly #log: Log
  /** The heads that were read, so that no listing reads a file twice. */
  readonly #known = new Map<string, Known>()
  #opened: Promise<void> | undefined
  #listing: Promise<readonly Kept[]> | undefined
  /** Set if a file was added or removed since the listing began: later callers wait for another listing. */
  #isOutdated = false
  /** Set if there are heads that the cache file lacks. */
  #isNews = false

  constructor(folder: string, describe: (raw: Uint8Array) => Promise<BackupHead | undefined>, log: Log) {
    this.#folder = folder
    this.#describe = describe
    this.#log = log
  }

  /** Returns the sorted names of the files. */
  async names(): Promise<readonly string[]> {
    await this.#open()
    return (await readdir(this.#folder)).filter(isBackupName).sort()
  }

  /** Returns every valid file, newest first. Callers during a listing share its result. */
  list(): Promise<readonly Kept[]> {
    if (this.#listing !== undefined && !this.#isOutdated) return this.#listing
    this.#isOutdated = false
    const begun = Promise.resolve(this.#listing).catch(() => undefined)
    const listing: Promise<readonly Kept[]> = begun
      .then(() => this.#list())
      .finally(() => {
        if (this.#listing === listing) this.#listing = undefined
      })
    this.#listing = listing
    return listing
  }

  async #list(): Promise<readonly Kept[]> {
    const kept: Kept[] = []
    const names = await this.names()
    for (const file of names) {
      const head = await this.#headOf(file)
      if (head !== undefined) kept.push({ file, head })
    }
    if (this.#isNews) await this.#remember(new Set(names))
    return kept.sort((a, b) => (a.head.createdAt < b.head.createdAt ? 1 : -1))
  }

  /** Returns the file's bytes; undefined if it does not exist, or is too large for a backup. */
  async read(name: string): Promise<Uint8Array | undefined> {
    if (!isBackupName(name)) return undefined
    try {
      // Links are refused, as they could lead anywhere.
      const file = await open(join(this.#folder, name), constants.O_RDONLY | constants.O_NOFOLLOW)
      try {
        const facts = await file.stat()
        return facts.isFile() && facts.size <= BACKUP_BYTES_MAX ? await file.readFile() : undefined
      } finally {
        await file.close()
      }
    } catch (error) {
      if (hasCode(error, 'ENOENT') || hasCode(error, 'ELOOP')) return undefined
      throw error
    }
  }

  /** `head` is the head of the new file. */
  async add(
    head: BackupHead,
    names: Iterable<string>,
    portions: Iterable<Uint8Array>,
    rest?: () => Promise<void>,
  ): Promise<string> {
    await this.#open()
    const name = await createDurably(this.#folder, names, portions, rest)
    const { mtimeMs, size } = await stat(join(this.#folder, name))
    this.#known.set(name, { mtime_ms: mtimeMs, size, head })
    this.#isOutdated = true
    return name
  }

  /** Resolves with whether the file existed. */
  async remove(name: string): Promise<boolean> {
    if (!isBackupName(name)) return false
    await this.#open()
    this.#known.delete(name)
    const wasThere = await removeDurably(this.#folder, name)
    this.#isOutdated = true
    return wasThere
  }

  async #headOf(file: string): Promise<BackupHead | undefined> {
    const facts = await stat(join(this.#folder, file)).catch(() => undefined)
    if (facts === undefined) return undefined
    const known = this.#known.get(file)
    if (known?.mtime_ms === facts.mtimeMs && known.size === facts.size) return known.head
    const raw = await this.read(file)
    const head = raw === undefined ? undefined : await this.#describe(raw)
    if (head === undefined) this.#log.warn('a backup file is incomplete and not listed', { file })
    this.#known.set(file, { mtime_ms: facts.mtimeMs, size: facts.size, head })
    this.#isNews = true
    return head
  }

  /**
   * Stores the cache for the next daemon. It is only a hint: a file is read again before it is restored, and a missing
   * cache costs only time.
   */
  async #remember(names: ReadonlySet<string>): Promise<void> {
    for (const name of this.#known.keys()) if (!names.has(name)) this.#known.delete(name)
    const path = join(this.#folder, HEADS)
    try {
      await writeFile(`${path}.new`, JSON.stringify([...this.#known]), { mode: 0o600 })
      await rename(`${path}.new`, path)
      this.#isNews = false
    } catch (error) {
      this.#log.warn('the metadata of the backups could not be stored', { reason: String(error) })
    }
  }

  async #recall(): Promise<void> {
    try {
      const entries: readonly (readonly [string, Known])[] = JSON.parse(
        await readFile(join(this.#folder, HEADS), 'utf8'),
      )
      for (const [name, known] of entries) this.#known.set(name, known)
    } catch {
      // The cache is absent or incomplete: the files are read instead.
    }
  }

  async #begin(): Promise<void> {
    await openFolder(this.#folder)
    await this.#recall()
  }

  #open(): Promise<void> {
    this.#opened ??= this.#begin().catch((error: unknown) => {
      this.#opened = undefined
      throw error
    })
    return this.#opened
  }
}
