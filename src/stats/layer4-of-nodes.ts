import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import type { Clock } from '../base/clock.ts'
import { KeptAnswer } from '../base/kept-answer.ts'
import { validatorOf } from '../base/validator.ts'
import type { LiveFigures, LiveView } from '../context/figures.ts'
import type { Rendered } from '../context/rendered.ts'
import type { MissingNode } from '../model/of-nodes.ts'
import { LAYER_4_STATISTICS, type Layer4Live } from './layer4-live.ts'
import { type Layer4Objects, shownIn, summed } from './layer4-sum.ts'

/** A node's report of its kernel's table: all of it, or the reason why it cannot be read. */
export type Layer4Told = { readonly objects: Layer4Objects } | { readonly problem: string }

const list = Type.Array(Type.Object({ id: Type.String() }))
const TOLD = Type.Union([
  Type.Object({ problem: Type.String() }),
  Type.Object({ objects: Type.Object({ frontends: list, backends: list, reals: list }) }),
])

/** Whether an answer can be added to other nodes' reports. The reporting node decides which figures an object has. */
export const isLayer4Told = (answer: unknown): answer is Layer4Told => validatorOf(TOLD).Check(answer)

export interface Layer4OfNodesParts {
  readonly nodeId: string
  readonly own: Pick<Layer4Live, 'render' | 'problem'>
  readonly hasOthers: () => boolean
  /** Gets each other node's report, or the reason why there is none. */
  readonly askOthers: () => Promise<ReadonlyMap<string, Layer4Told>>
  readonly clock: Pick<Clock, 'monotonic_ms'>
}

/** Other nodes are asked at most once in this time, however many clients poll. */
const KEPT_MS = 1_000
/** Number of views kept for one sum. */
const VIEWS_MAX = 256

interface Sum {
  readonly objects: Layer4Objects
  readonly nodes: readonly string[]
  readonly missing: readonly MissingNode[]
  readonly views: Map<string, Rendered>
}

/** Layer 4 figures of the cluster; without other nodes, those of this node unchanged. */
export class Layer4OfNodes implements LiveFigures {
  readonly #parts: Layer4OfNodesParts
  readonly #sum: KeptAnswer<Sum>

  constructor(parts: Layer4OfNodesParts) {
    this.#parts = parts
    this.#sum = new KeptAnswer({ ask: () => this.#make(), kept_ms: KEPT_MS, clock: parts.clock })
  }

  render(view: LiveView): Rendered | undefined | Promise<Rendered | undefined> {
    const { hasOthers, own } = this.#parts
    return hasOthers() ? this.#sum.get().then((sum) => rendered(view, sum, own)) : own.render(view)
  }

  async #make(): Promise<Sum> {
    const { nodeId, own, askOthers } = this.#parts
    const told = await askOthers()
    const mine = toldOf(own)
    const all = [[nodeId, mine] as const, ...told]
    const missing = all.flatMap(([id, one]) => ('problem' in one ? [{ nodeId: id, why: one.problem }] : []))
    const there = all.flatMap(([id, one]) => ('objects' in one ? [[id, one.objects] as const] : []))
    // If no node has figures, the objects of this node are shown without them.
    const objects = summed(there.length === 0 ? [objectsOf(own)] : there.map(([, one]) => one))
    return { objects, nodes: there.map(([id]) => id), missing, views: new Map() }
  }
}

/** Returns this node's report for another node. */
export const toldOf = (own: Layer4OfNodesParts['own']): Layer4Told =>
  own.problem === undefined ? { objects: objectsOf(own) } : { problem: own.problem }

function objectsOf(own: Layer4OfNodesParts['own']): Layer4Objects {
  const { data } = JSON.parse(Buffer.from(own.render({ kind: 'all' })?.body ?? '').toString())
  return data
}

function rendered(view: LiveView, sum: Sum, own: Layer4OfNodesParts['own']): Rendered | undefined {
  const key = 'id' in view ? `${view.kind}/${view.id}` : view.kind
  const known = sum.views.get(key)
  if (known !== undefined) return known
  const data = shownIn(view, sum.objects) ?? inNoBackend(view, own)
  if (data === undefined) return undefined
  const { nodes, missing } = sum
  const lacking =
    missing.length === 0 ? '' : `; ${missing.length} of ${nodes.length + missing.length} nodes are missing`
  const message = `${LAYER_4_STATISTICS}${lacking}`
  const body = JSON.stringify({ status: 'success', message, data, nodes, missing })
  const made = { body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }
  if (sum.views.size >= VIEWS_MAX) sum.views.clear()
  sum.views.set(key, made)
  return made
}

/** Returns the answer for an existing real server that is in no backend: no node has figures of it. */
const inNoBackend = (view: LiveView, own: Layer4OfNodesParts['own']) =>
  view.kind === 'rip' && own.render(view) !== undefined ? [] : undefined
