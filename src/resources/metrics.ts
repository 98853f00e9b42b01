import { endpoint } from '../api/endpoint.ts'
import { Reply } from '../api/reply.ts'

export const metrics = [
  endpoint({
    name: 'metrics.read',
    method: 'GET',
    path: '/metrics',
    effect: 'read',
    extension: true,
    produces: ['application/openmetrics-text', 'text/plain'],
    summary:
      'Metrics of this node for Prometheus and compatible collectors: OpenMetrics 1.0 if Accept names it, else text 0.0.4',
    message: 'Samples of both layers, the node, HAProxy, the archive, applies, certificates, jobs and the cluster.',
    handle: async (ctx, { accept }) => Reply.bytes(await ctx.metrics.answer(accept)),
  }),
]
