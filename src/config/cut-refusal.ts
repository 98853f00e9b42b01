import type { ApplyOptions } from '../context/applying.ts'
import { ApiError } from '../base/errors.ts'
import type { ConfigView } from '../model/sections.ts'
import type { ApplyParts, Caller } from './apply-parts.ts'
import { configView } from './views.ts'

/** Refuses a change that could cut its caller off from this node, unless it is forced or would be taken back. */
export async function refuseCut(
  { store, wouldCut }: Pick<ApplyParts, 'store' | 'wouldCut'>,
  desired: ConfigView,
  { confirmWithin, isForced }: ApplyOptions,
  { address }: Pick<Caller, 'address'>,
): Promise<void> {
  if (confirmWithin !== undefined || isForced === true || address === undefined) return
  const reason = await wouldCut(configView(store.running), desired, address)
  if (reason === undefined) return
  const message = `${reason}: send confirmWithin, so that the change is reverted unless you confirm it, or force true`
  throw new ApiError('INVALID_BODY', `This apply could cut you off: ${message}`, {
    errors: [{ field: 'confirmWithin', code: 'CONFIRMATION_REQUIRED', message }],
  })
}
