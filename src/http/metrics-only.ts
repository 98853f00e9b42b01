import { ApiError } from '../base/errors.ts'
import type { Log } from '../base/log.ts'
import type { MetricsReader } from '../context/metrics.ts'
import type { Answer } from './envelope.ts'
import type { Incoming } from './incoming.ts'
import { negotiate, wantedOf } from './prepared.ts'
import { answerRefusal } from './refusal.ts'
import type { Handler } from './server.ts'

const PATHS: ReadonlySet<string> = new Set(['/metrics', '/api/v1/metrics'])
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Answers the figures of the node, to anybody, and nothing else. */
export function metricsOnly(metrics: MetricsReader, log: Log): Handler {
  return async (incoming, requestId) => {
    try {
      return await figures(metrics, incoming)
    } catch (error) {
      return answerRefusal(error, requestId, log)
    }
  }
}

function figures(metrics: MetricsReader, incoming: Incoming): Promise<Answer> {
  const { method, path } = incoming
  if (!PATHS.has(path)) throw new ApiError('UNKNOWN_ENDPOINT', 'At this address there is nothing but /metrics')
  if (!METHODS.has(method))
    throw new ApiError('METHOD_NOT_ALLOWED', 'This path supports GET', { headers: { Allow: 'GET' } })
  // Headers are gone after the first await.
  const wanted = wantedOf(incoming)
  return metrics.answer(incoming.header('accept')).then((ready) => negotiate(ready, wanted))
}
