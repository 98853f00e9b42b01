import { ApiError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { MetricsReader } from '../context/metrics.ts'
import { type Answer, failure } from './envelope.ts'
import type { Incoming } from './incoming.ts'
import { negotiate, wantedOf } from './prepared.ts'
import { answerRefusal } from './refusal.ts'
import type { Handler } from './server.ts'

const PATHS: ReadonlySet<string> = new Set(['/metrics', '/api/v1/metrics'])
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

const REFUSED: Readonly<Record<'path' | 'method', Answer>> = {
  path: failure(new ApiError('UNKNOWN_ENDPOINT', 'Only /metrics is available at this address')),
  method: failure(new ApiError('METHOD_NOT_ALLOWED', 'This path supports GET', { headers: { Allow: 'GET' } })),
}

/** Serves the metrics of the node to any caller, and nothing else. */
export function metricsOnly(metrics: MetricsReader, log: Log): Handler {
  return (incoming, requestId) => {
    if (!PATHS.has(incoming.path)) return REFUSED.path
    if (!METHODS.has(incoming.method)) return REFUSED.method
    return figures(metrics, incoming).catch((error: unknown) => answerRefusal(error, requestId, log))
  }
}

async function figures(metrics: MetricsReader, incoming: Incoming): Promise<Answer> {
  // Headers cannot be read after the first await.
  const wanted = wantedOf(incoming)
  return negotiate(await metrics.answer(incoming.header('accept')), wanted)
}
