import type { ConfigStore } from '../../storage/config/config-store.ts'
import { ApiError } from '../errors.ts'
import { type ConfigView, SECTION_NAMES, SECTIONS, type SectionName } from '../model/sections.ts'
import { Draft } from './draft.ts'
import { frozenView } from './views.ts'

/**
 * One editing request at a time: its checks and its write see the same candidate. Waiting costs one durable write
 * (milliseconds); readers and pollers never wait here.
 */
export class Editing {
  readonly #store: ConfigStore
  #last: Promise<unknown> = Promise.resolve()

  constructor(store: ConfigStore) {
    this.#store = store
  }

  /** Runs `work` on a draft and writes its edits, all or none. */
  edit<T>(
    origin: { readonly actor: string; readonly endpoint: string; readonly at: string },
    ifMatch: string | undefined,
    work: (draft: Draft) => T | Promise<T>,
  ): Promise<T> {
    return this.#alone(async () => {
      const draft = new Draft(this.#store, ifMatch)
      const result = await work(draft)
      if (draft.writes.length > 0) await this.#store.stage(draft.writes, origin)
      return result
    })
  }

  /** Takes pending changes back; refuses when what is left would refer to something that is gone. */
  discard(changeId: string | undefined): Promise<void> {
    return this.#alone(async () => {
      const changes = this.#store.changes()
      if (changeId === undefined) return this.#store.discard(changes.map((change) => change.id))
      if (!changes.some((change) => change.id === changeId)) {
        throw new ApiError('NOT_FOUND', `There is no pending change with id ${changeId}`)
      }
      const rest = frozenView(
        this.#store.running,
        changes.filter((change) => change.id !== changeId),
      )
      const usage = SECTION_NAMES.flatMap((resource) => dangling(rest, resource))
      if (usage.length > 0) {
        const users = usage.map((user) => user.name).join(', ')
        throw new ApiError('IN_USE', `Other pending changes need this one: ${users}; discard them first`, {
          data: { usage },
        })
      }
      for (const section of SECTION_NAMES) refuseSameNames(rest, section)
      return this.#store.discard([changeId])
    })
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }
}

interface Usage {
  readonly resource: string
  readonly id: string
  readonly name: string
  readonly field: string
}

/** References of one section that point nowhere. */
function dangling<N extends SectionName>(view: ConfigView, resource: N): readonly Usage[] {
  const { references, nameField } = SECTIONS[resource]
  return [...view.list(resource)].flatMap((record) =>
    references(record)
      .filter((reference) => view.get(reference.section, reference.id) === undefined)
      .map(({ field }) => ({ resource, id: record.id, name: String(record[nameField]), field })),
  )
}

/** Taking a rename back must not leave two records with one name. */
function refuseSameNames<N extends SectionName>(view: ConfigView, section: N): void {
  const { label, nameField } = SECTIONS[section]
  const seen = new Set<string>()
  for (const record of view.list(section)) {
    const name = String(record[nameField])
    if (seen.has(name.toLowerCase())) {
      throw new ApiError('NAME_NOT_UNIQUE', `Without this change two records would be a ${label} named ${name}`)
    }
    seen.add(name.toLowerCase())
  }
}
