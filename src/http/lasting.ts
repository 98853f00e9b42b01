import type { Slices } from '../context/rendered.ts'
import type { Log } from '../base/log.ts'
import type { Asked } from './admission.ts'
import type { Answer } from './envelope.ts'
import { answerRefusal } from './refusal.ts'

/** Counts a long answer for its caller. The log says why it broke off, since its status was sent long before. */
export function lasting(
  answer: Answer | Promise<Answer>,
  { actor, requestId }: Pick<Asked, 'actor' | 'requestId'>,
  log: Log,
): Answer | Promise<Answer> {
  if (answer instanceof Promise) return answer
  const { slices, stream } = answer
  if (slices === undefined) return stream === undefined ? answer : { ...answer, holder: actor.userId }
  const warn = (reason: string) => log.warn('answer aborted', { requestId, reason })
  const defect = (error: unknown) => answerRefusal(error, requestId, log)
  return { ...answer, holder: actor.userId, slices: () => reported(slices(), warn, defect) }
}

/** Yields the same slices; calls `report` with the reason if they end before the answer is complete. */
export function* reported(slices: Slices, report: (reason: string) => void, defect: (error: unknown) => void) {
  try {
    for (;;) {
      const next = slices.next()
      if (next.done !== true) {
        yield next.value
        continue
      }
      if (next.value !== undefined) report(next.value)
      return next.value
    }
  } catch (error) {
    defect(error)
    return 'internal error'
  }
}
