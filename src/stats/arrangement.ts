import type { ObjectKind } from '../../storage/archive/catalog.ts'
import type { NamedBackend, NamedObject } from './names.ts'

/** One object of an answer: its labels there and its place in the archive. */
export interface Subject {
  /** Fields before the series, in order. */
  readonly labels: Labels
  /** The labels as fields of a JSON object. */
  readonly json: string
  readonly kind: ObjectKind
  readonly name: string
  readonly backend: string
}

export type Labels = readonly (readonly [name: string, value: string])[]

/** The arrangement of the subjects in the answer: one object, a list in an object, or a list of whole objects. */
export interface Arrangement {
  readonly shape: 'one' | 'listed' | 'list'
  readonly subjects: readonly Subject[]
  /** For an object with a list: the fields before the list, and the list's name. */
  readonly group: string
  readonly listed: string
  /** Names of the labels that are columns of each CSV row. */
  readonly columns: readonly string[]
}

const LIST = { shape: 'list', group: '', listed: '' } as const

function proxy(kind: 'frontend' | 'backend', { id, name, called = id }: NamedObject): Subject {
  return subject(
    [
      ['id', id],
      ['name', name],
    ],
    kind,
    called,
    '',
  )
}

/** Arranges the answer for one frontend or backend. */
export function one(kind: 'frontend' | 'backend', found: NamedObject): Arrangement {
  return { ...LIST, shape: 'one', subjects: [proxy(kind, found)], columns: [] }
}

/** Arranges the answer for several frontends or backends. */
export function proxies(kind: 'frontend' | 'backend', found: readonly NamedObject[]): Arrangement {
  const subjects = found.map((each) => proxy(kind, each))
  return { shape: 'listed', subjects, group: '', listed: `${kind}s`, columns: ['id', 'name'] }
}

/** Arranges the answer for several real servers, each in each of its backends. */
export function servers(found: readonly { readonly ripId: string; readonly backends: readonly NamedBackend[] }[]) {
  const subjects = found.flatMap(({ ripId, backends }) => listOf(ripId, backends).subjects)
  const columns = ['backendId', 'backendName', 'id', 'name']
  return { shape: 'listed', subjects, group: '', listed: 'reals', columns } as const satisfies Arrangement
}

/** Arranges the answer for the real servers of a backend. */
export function realsOf({ id, name, called = id, reals }: NamedBackend): Arrangement {
  const subjects = reals.map((real) =>
    subject(
      [
        ['id', real.ripId],
        ['name', real.name],
      ],
      'server',
      real.called ?? real.ripId,
      called,
    ),
  )
  const group = labelsJson([
    ['id', id],
    ['name', name],
  ])
  return { shape: 'listed', subjects, group, listed: 'reals', columns: ['id', 'name'] }
}

/** Arranges the answer for one real server in each of its backends. */
export function listOf(ripId: string, backends: readonly NamedBackend[]): Arrangement {
  const subjects = backends.map((backend) => {
    const { name = '', called = ripId } = backend.reals.find((real) => real.ripId === ripId) ?? {}
    const owner = [
      ['backendId', backend.id],
      ['backendName', backend.name],
    ] as const
    return subject([...owner, ['id', ripId], ['name', name]], 'server', called, backend.called ?? backend.id)
  })
  return { ...LIST, subjects, columns: ['backendId', 'backendName'] }
}

function subject(labels: Labels, kind: ObjectKind, name: string, backend: string): Subject {
  return { labels, json: labelsJson(labels), kind, name, backend }
}

function labelsJson(labels: Labels): string {
  return labels.map(([name, value]) => `"${name}":${JSON.stringify(value)}`).join()
}
