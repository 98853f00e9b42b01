import { liveEndpoints } from './live-endpoints.ts'
import { LAYER_4_FIGURES } from '../../model/live-figures.ts'
import { OfNodes } from '../../model/of-nodes.ts'

export const l4Stats = liveEndpoints({
  name: 'l4Stats',
  base: '/ipvsDirector/stats',
  title: 'Layer 4',
  fields: LAYER_4_FIGURES,
  description:
    '64-bit counters of the kernel’s balancing table, and their rates per second; null while unknown. In a cluster they are summed over its nodes; `realsUp` is then the lowest and `health` the worst value of any node. packetsOut and bytesOut are null if replies bypass the node (gate and ipip). A real server that is not in the table (halted, or its check fails) has no figures.',
  specified: ['all', 'backends', 'backend', 'frontends', 'frontend', 'rips', 'backendRips', 'rip'],
  figures: (ctx) => ctx.layer4.live,
  beside: OfNodes,
})
