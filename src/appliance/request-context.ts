import type { Actor } from '../context/actor.ts'
import type { Asking } from '../context/asking.ts'
import type { Whole } from '../context/capabilities.ts'
import type { ContextOf, Here } from '../context/context.ts'
import type { SectionEditor } from '../context/sections.ts'
import { UnitOfWork, type WorkParts } from '../config/unit-of-work.ts'
import type { Asked } from '../http/admission.ts'
import type { CreateContext } from '../http/pipeline.ts'
import type { SectionName, Touched } from '../model/sections.ts'

/** The parts that all contexts share, for every endpoint. */
type Shared = Here & Whole
/** The parts of a context for its own request, for all effects together. */
type Own = Omit<ContextOf['read'] & ContextOf['stage-and-act'] & ContextOf['apply'], keyof Shared>

/**
 * Creates the contexts of requests. One class has all parts; the effect of an endpoint decides what its handler can see
 * of them. The capabilities are on the prototype, so that a request costs two small objects.
 */
export function contexts(shared: Shared, parts: WorkParts): CreateContext {
  class RequestContext implements Own {
    readonly work: UnitOfWork
    readonly actor: Actor
    readonly client: Asking['client']

    constructor({ route, incoming, actor, askAgain }: Asked, ifMatch?: string, transactionId?: string) {
      this.work = new UnitOfWork(parts, route.endpoint, actor, ifMatch, transactionId, askAgain)
      this.actor = actor
      this.client = incoming
    }

    may(endpoint: string, touched?: Touched): boolean {
      return parts.access.may(this.actor, endpoint, touched)
    }

    section<N extends SectionName>(name: N): SectionEditor<N> {
      return this.work.section(name)
    }
  }
  Object.assign(RequestContext.prototype, shared)
  return (asked, ifMatch, transactionId) => new RequestContext(asked, ifMatch, transactionId)
}
