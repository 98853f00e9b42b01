import type { ObjectKind } from '../../storage/archive/catalog.ts'
import type { NamedBackend, NamedObject } from './names.ts'

/** One object of an answer: what it is called there and where the archive keeps it. */
export interface Subject {
  /** Fields before the series, in order. */
  readonly labels: Labels
  /** The same as fields of a JSON object. */
  readonly json: string
  readonly kind: ObjectKind
  readonly name: string
  readonly backend: string
}

export type Labels = readonly (readonly [name: string, value: string])[]

/** How the subjects stand in the answer: one object, a list under "reals" of a group, or a list of whole objects. */
export interface Arrangement {
  readonly shape: 'one' | 'reals' | 'list'
  readonly subjects: readonly Subject[]
  /** Fields of a JSON object before a list under "reals". */
  readonly group: string
}

/** A frontend or a backend. */
export function one(kind: 'frontend' | 'backend', { id, name, called = id }: NamedObject): Arrangement {
  return {
    shape: 'one',
    subjects: [
      subject(
        [
          ['id', id],
          ['name', name],
        ],
        kind,
        called,
        '',
      ),
    ],
    group: '',
  }
}

/** The real servers of a backend. */
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
  return {
    shape: 'reals',
    subjects,
    group: labelsJson([
      ['id', id],
      ['name', name],
    ]),
  }
}

/** A real server in each of its backends. */
export function listOf(ripId: string, backends: readonly NamedBackend[]): Arrangement {
  const subjects = backends.map((backend) => {
    const { name = '', called = ripId } = backend.reals.find((real) => real.ripId === ripId) ?? {}
    const owner = [
      ['backendId', backend.id],
      ['backendName', backend.name],
    ] as const
    return subject([...owner, ['id', ripId], ['name', name]], 'server', called, backend.called ?? backend.id)
  })
  return { shape: 'list', subjects, group: '' }
}

function subject(labels: Labels, kind: ObjectKind, name: string, backend: string): Subject {
  return { labels, json: labelsJson(labels), kind, name, backend }
}

function labelsJson(labels: Labels): string {
  return labels.map(([name, value]) => `"${name}":${JSON.stringify(value)}`).join()
}
