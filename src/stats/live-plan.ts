import type { LiveView } from '../context/figures.ts'
import { ascii } from '../base/json-buffer.ts'
import type { LiveKind } from './live-fields.ts'
import type { NamedBackend, NamedObject, ObjectNames } from './names.ts'

/** One object of an answer. */
export interface LiveElement {
  readonly kind: LiveKind
  /** `{"id":…,"name":…`, made once per version of the names. */
  readonly head: Uint8Array
  /** Key of the row in HAProxy's answer. */
  readonly rowKey: string
  readonly id: string
}

/** Objects by kind. */
export interface ObjectLists {
  readonly frontends: readonly LiveElement[]
  readonly backends: readonly LiveElement[]
  readonly reals: readonly LiveElement[]
}

/** A part of an answer: literal brackets and names, or the list of elements between them. */
export type LivePiece = Uint8Array | readonly LiveElement[]

export function rowKey(kind: LiveKind, proxy: string, server: string): string {
  return kind === 'server' ? `server\0${proxy}\0${server}` : `${kind}\0${proxy}`
}

/** Fields of an object that come from the configuration: any number of `,"field":value`. */
export interface LiveFacts {
  of(kind: LiveKind, id: string): string
}
const NO_FACTS: LiveFacts = { of: () => '' }

/** The elements of one view. */
class Elements {
  readonly #facts: LiveFacts

  constructor(facts: LiveFacts) {
    this.#facts = facts
  }

  one(kind: 'frontend' | 'backend', { id, name, called = id }: NamedObject): LiveElement {
    const facts = this.#facts.of(kind, id)
    return {
      id,
      kind,
      head: ascii(`{"id":${JSON.stringify(id)},"name":${JSON.stringify(name)}${facts}`),
      rowKey: rowKey(kind, called, ''),
    }
  }

  realsOf(backend: NamedBackend, only?: string): LiveElement[] {
    const owner = `,"backendId":${JSON.stringify(backend.id)},"backendName":${JSON.stringify(backend.name)}`
    return backend.reals
      .filter(({ ripId }) => only === undefined || ripId === only)
      .map(({ ripId, name, called = ripId }) => {
        const facts = this.#facts.of('server', ripId)
        return {
          id: ripId,
          kind: 'server',
          head: ascii(`{"id":${JSON.stringify(ripId)},"name":${JSON.stringify(name)}${owner}${facts}`),
          rowKey: rowKey('server', backend.called ?? backend.id, called),
        }
      })
  }
}

const OPEN_LIST = ascii('[')
const CLOSE_LIST = ascii(']')

/** Returns the parts of a view; `undefined` when its id is not in the running configuration. */
export function planView(
  view: LiveView,
  names: ObjectNames,
  facts: LiveFacts = NO_FACTS,
): readonly LivePiece[] | undefined {
  const of = new Elements(facts)
  const frontends = (): LiveElement[] => Array.from(names.frontends(), (frontend) => of.one('frontend', frontend))
  const backends = (): LiveElement[] => Array.from(names.backends(), (backend) => of.one('backend', backend))
  const reals = (): LiveElement[] => Array.from(names.backends()).flatMap((backend) => of.realsOf(backend))
  switch (view.kind) {
    case 'all':
      return [
        ascii('{"frontends":['),
        frontends(),
        ascii('],"backends":['),
        backends(),
        ascii('],"reals":['),
        reals(),
        ascii(']}'),
      ]
    case 'frontends':
      return [OPEN_LIST, frontends(), CLOSE_LIST]
    case 'backends':
      return [OPEN_LIST, backends(), CLOSE_LIST]
    case 'rips':
      return [OPEN_LIST, reals(), CLOSE_LIST]
    default:
      return planOne(view, names, of)
  }
}

/** Returns the objects of each kind, as in `planView`. */
export function listObjects(names: ObjectNames, facts?: LiveFacts): ObjectLists {
  const pieces = planView({ kind: 'all' }, names, facts) ?? []
  const [frontends = [], backends = [], reals = []] = pieces.flatMap((piece) =>
    piece instanceof Uint8Array ? [] : [piece],
  )
  return { frontends, backends, reals }
}

/** Returns the objects with some ids; the others, which may be thousands, are not made. */
export function listSome(names: ObjectNames, ids: ReadonlySet<string>, facts: LiveFacts = NO_FACTS): ObjectLists {
  const of = new Elements(facts)
  const found = <T, U>(look: (id: string) => T | undefined, use: (it: T, id: string) => U[]): U[] =>
    [...ids].flatMap((id) => {
      const it = look(id)
      return it === undefined ? [] : use(it, id)
    })
  return {
    frontends: found(
      (id) => names.frontend(id),
      (frontend) => [of.one('frontend', frontend)],
    ),
    backends: found(
      (id) => names.backend(id),
      (backend) => [of.one('backend', backend)],
    ),
    reals: found(
      (id) => names.backendsOfRip(id),
      (backends, id) => backends.flatMap((one) => of.realsOf(one, id)),
    ),
  }
}

/** Whether `names` has something with this id. */
export const hasObject = (names: ObjectNames, id: string): boolean =>
  (names.frontend(id) ?? names.backend(id) ?? names.backendsOfRip(id)) !== undefined

function planOne(
  view: Extract<LiveView, { readonly id: string }>,
  names: ObjectNames,
  of: Elements,
): readonly LivePiece[] | undefined {
  if (view.kind === 'frontend') {
    const frontend = names.frontend(view.id)
    return frontend === undefined ? undefined : [[of.one('frontend', frontend)]]
  }
  if (view.kind === 'rip') {
    const backends = names.backendsOfRip(view.id)
    return backends === undefined
      ? undefined
      : [OPEN_LIST, backends.flatMap((backend) => of.realsOf(backend, view.id)), CLOSE_LIST]
  }
  const backend = names.backend(view.id)
  if (backend === undefined) return undefined
  return view.kind === 'backend' ? [[of.one('backend', backend)]] : [OPEN_LIST, of.realsOf(backend), CLOSE_LIST]
}
