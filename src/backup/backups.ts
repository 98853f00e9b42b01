import { hostname } from 'node:os'
import { join } from 'node:path'
import type { BackupEntry, BackupsActor, Restoration, RestoreRequest } from '../context/backups.ts'
import type { Rendered } from '../context/rendered.ts'
import type { Clock } from '../base/clock.ts'
import { turn } from '../base/turns.ts'
import { ApiError, type FieldError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import { licence } from '../model/licence.ts'
import type { MachineFacts } from '../model/machine-facts.ts'
import { type ConfigView, SECTION_NAMES, type SectionContents } from '../model/sections.ts'
import type { ComputePool } from '../threads/worker-pool.ts'
import { BACKUP_BYTES_MAX, BackupFolder, type Kept } from './folder.ts'
import { type AutoKind, kindOf, madeAt_ms, namesFor, oldestFirst, shownTime } from '../backup-file/names.ts'
import type { BackupHead, OpenBackup } from '../backup-file/reading.ts'
import { restoration } from './restoring.ts'
import { newSealingKey } from '../backup-file/sealing.ts'
import { BACKUP_SECTIONS } from '../backup-file/sections.ts'
import { type BackupNode, type BackupSource, backupText } from '../backup-file/writing.ts'

/** Uploads are kept until a user deletes them. */
const UPLOADS_MAX = 50
/** Automatic backups replace the oldest ones. */
export const KEPT_MAX: Readonly<Record<AutoKind, number>> = { apply: 20, daily: 14 }

export interface BackupsParts {
  readonly running: ConfigView
  /** The contents of a backup: running, except for what this node runs alone. */
  readonly agreed: ConfigView
  readonly candidate: ConfigView
  /** Whether an apply is under way. */
  readonly engine: { readonly isApplying: boolean }
  readonly facts: Pick<MachineFacts, 'interfaces'>
  readonly born: string
  readonly nodeId: string
  /** The nodes of the cluster; none if there is no cluster. */
  readonly membership: { readonly members: { all(): readonly { readonly id: string; readonly name: string }[] } }
  readonly version: string
  readonly stateFolder: string
  readonly leavesRoom: (folder: string, bytes: number) => Promise<boolean>
  readonly compute: ComputePool
  readonly clock: Clock
  readonly log: Log
}

const SECRETS_IN_CLEAR =
  'SECRETS_IN_CLEAR: this file contains unencrypted private keys and password hashes; X-Backup-Passphrase encrypts them'

/** The backup files of this node: made from running, stored as uploaded, and read completely before they are used. */
export class Backups implements BackupsActor {
  readonly #parts: BackupsParts
  readonly #uploads: BackupFolder
  readonly #auto: BackupFolder
  /** Only one is read at a time, because each takes memory and seconds of a shared thread. */
  #isOpening = false

  constructor(parts: BackupsParts) {
    this.#parts = parts
    const folder = (name: string) =>
      new BackupFolder(join(parts.stateFolder, 'backups', name), (raw) => this.#describe(raw), parts.log)
    this.#uploads = folder('uploads')
    this.#auto = folder('auto')
  }

  async list(): Promise<{ readonly uploads: BackupEntry[]; readonly auto: BackupEntry[] }> {
    const [uploads, auto] = [await this.#uploads.list(), await this.#auto.list()]
    return { uploads: uploads.map(entryOf), auto: auto.map(entryOf) }
  }

  /** Returns a backup of the present running configuration, written while it is sent. */
  async make(passphrase: string | undefined): Promise<Rendered> {
    const source = this.source()
    const key = passphrase === undefined ? undefined : await newSealingKey(passphrase)
    const [name] = namesFor(hostname(), source.createdAt, undefined)
    return {
      body: '',
      slices: () => wholly(backupText(source, key)),
      contentType: 'application/json',
      cacheControl: 'no-store',
      headers: {
        'Content-Disposition': `attachment; filename="${name}"`,
        ...(key === undefined ? { 'X-Backup-Warning': SECRETS_IN_CLEAR } : {}),
      },
    }
  }

  /** Returns the contents of a backup, by reference: records are never changed in place. */
  source(): BackupSource {
    const { agreed, version, clock } = this.#parts
    const contents: SectionContents = Object.fromEntries(SECTION_NAMES.map((name) => [name, [...agreed.list(name)]]))
    return {
      applianceVersion: version,
      createdAt: new Date(clock.now_ms()).toISOString(),
      nodes: this.#nodes(),
      contents,
      beside: { licence: licence(clock.now_ms()) },
    }
  }

  /**
   * Returns all nodes with records in the backup, this one first. Of the others, only their name in the cluster is
   * known.
   */
  #nodes(): readonly BackupNode[] {
    const { nodeId, membership } = this.#parts
    const all = membership.members.all().map(({ id, name }) => ({ id, hostname: name }))
    const self = all.find(({ id }) => id === nodeId) ?? { id: nodeId, hostname: hostname() }
    return [self, ...all.filter((one) => one !== self)]
  }

  /** Reads a file with its records; refuses with NOT_FOUND, or with everything that is wrong with it. */
  async #read(file: string, passphrase: string | undefined): Promise<OpenBackup> {
    const raw = (await this.#uploads.read(file)) ?? (await this.#auto.read(file))
    if (raw === undefined) throw new ApiError('NOT_FOUND', `There is no backup ${file}; GET /backup/list shows all`)
    const read = await this.#parts.compute.run('openBackup', { raw, passphrase })
    if ('problems' in read) throw refusal('file', read.problems)
    const { head, contents } = read
    if (contents !== undefined) return { head, contents }
    const message = 'is required: this backup was created with a passphrase'
    throw refusal('file', [{ field: 'X-Backup-Passphrase', code: 'PASSPHRASE_REQUIRED', message }])
  }

  async opened(request: RestoreRequest, passphrase: string | undefined): Promise<() => Restoration> {
    const { born, nodeId, running, candidate, engine, facts } = this.#parts
    if (request.sections === undefined) this.#refuseInCluster()
    if (this.#isOpening)
      throw busy('JOB_IN_PROGRESS', 'Another backup is being read for a restore; try again in a second')
    this.#isOpening = true
    try {
      const read = await this.#read(request.file, passphrase)
      const interfaces = request.sections === undefined ? await facts.interfaces() : []
      return () => {
        if (request.sections === undefined) this.#refuseInCluster()
        if (engine.isApplying) throw busy('APPLY_IN_PROGRESS', 'An apply is running; restore when it has ended')
        return restoration(request, read, { born, nodeId, running, candidate, interfaces })
      }
    } finally {
      this.#isOpening = false
    }
  }

  /** Refuses a full restore in a cluster: it sets the id of the node, and the other nodes know it by another one. */
  #refuseInCluster(): void {
    if (this.#parts.membership.members.all().length === 0) return
    const message =
      'A full restore is for a single node, but this node is in a cluster: name sections, which are restored for all ' +
      'nodes; or, if all others are lost, restore it on a node without a cluster and create a new one'
    throw new ApiError('IN_USE', message)
  }

  /** Stores the text of a backup file and resolves with its name; refuses an invalid one. */
  async upload(text: string): Promise<string> {
    const raw = Buffer.from(text)
    if (raw.length > BACKUP_BYTES_MAX) {
      throw new ApiError('PAYLOAD_TOO_LARGE', `A backup may have at most ${BACKUP_BYTES_MAX} bytes`)
    }
    const described = await this.#parts.compute.run('describeBackup', raw)
    if ('problems' in described) throw refusal('backup', described.problems)
    if ((await this.#uploads.names()).length >= UPLOADS_MAX) {
      const message = `cannot be stored in addition to ${UPLOADS_MAX} others: delete some with DELETE /backup/{filename}`
      throw refusal('backup', [{ field: '', code: 'TOO_MANY', message }])
    }
    if (!(await this.#parts.leavesRoom(this.#parts.stateFolder, raw.length))) {
      const message = 'cannot be stored: the disk would be full; DELETE /backup/uploads frees space'
      throw refusal('backup', [{ field: '', code: 'NO_SPACE', message }])
    }
    const { head } = described
    const { nodes, createdAt } = head
    const file = await this.#uploads.add(head, namesFor(nodes[0]?.hostname ?? '', createdAt, undefined), [raw])
    this.#parts.log.info('backup uploaded', { file, bytes: raw.length })
    return file
  }

  async remove(file: string): Promise<void> {
    if ((await this.#uploads.remove(file)) || (await this.#auto.remove(file))) return
    throw new ApiError('NOT_FOUND', `There is no backup ${file}; GET /backup/list shows all`)
  }

  async removeAll(which: 'uploads' | 'auto' | 'all'): Promise<void> {
    const folders = { uploads: [this.#uploads], auto: [this.#auto], all: [this.#uploads, this.#auto] }[which]
    for (const folder of folders) for (const name of await folder.names()) await folder.remove(name)
  }

  /** Returns the names of the automatic backups of a kind, oldest first. */
  async automatic(kind: AutoKind): Promise<readonly string[]> {
    return oldestFirst((await this.#auto.names()).filter((name) => kindOf(name) === kind))
  }

  /** Writes an automatic backup, one portion per turn of the loop, and drops those it replaces. */
  async keep(source: BackupSource, kind: AutoKind): Promise<string> {
    const wanted = namesFor(hostname(), source.createdAt, kind)
    const file = await this.#auto.add(headOf(source), wanted, backupText(source, undefined), turn)
    const all = await this.automatic(kind)
    // Backups from before the clock was set back are dropped first: beside them, this one would be the oldest.
    const isAhead = (name: string) => madeAt_ms(name) > madeAt_ms(file)
    const names = [...all.filter(isAhead), ...all.filter((name) => !isAhead(name))]
    for (const name of names.slice(0, Math.max(0, names.length - KEPT_MAX[kind]))) await this.#auto.remove(name)
    this.#parts.log.info('backup stored', { file })
    return file
  }

  async #describe(raw: Uint8Array): Promise<BackupHead | undefined> {
    const described = await this.#parts.compute.run('describeBackup', raw)
    return 'head' in described ? described.head : undefined
  }
}

function headOf({ applianceVersion, createdAt, nodes }: BackupSource): BackupHead {
  const sections = BACKUP_SECTIONS.map(({ name, version }) => ({ name, version }))
  return { applianceVersion, createdAt, nodes, sections, isSealed: false }
}

const busy = (code: 'APPLY_IN_PROGRESS' | 'JOB_IN_PROGRESS', message: string) =>
  new ApiError(code, message, { headers: { 'Retry-After': '1' } })

/** Turns the problems of a file into problems of the field that named it. */
function refusal(field: string, problems: readonly FieldError[]): ApiError {
  const errors = problems.map((problem) =>
    problem.field.startsWith('X-') ? problem : { ...problem, field: [field, problem.field].filter(Boolean).join('.') },
  )
  const [first] = errors
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : ''
  return new ApiError('INVALID_BODY', `The backup is invalid: ${first?.field} ${first?.message}${more}`, { errors })
}

function entryOf({ file, head: { createdAt, nodes, sections } }: Kept): BackupEntry {
  return {
    file,
    dateTime: shownTime(createdAt),
    nodes: nodes.map(({ id, hostname: name }) => ({ id, hostname: name })),
    sections: sections.map(({ name, version }) => {
      const known = BACKUP_SECTIONS.find((section) => section.name === name)
      return { name, nameFull: known?.nameFull ?? name, version, partRestore: known?.partRestore ?? false }
    }),
  }
}

/** Wraps the portions into slices whose return value says that the answer is complete. */
function* wholly(portions: Iterable<Uint8Array>): Generator<Uint8Array, undefined> {
  yield* portions
  return undefined
}
