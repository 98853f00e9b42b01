import { liveEndpoints } from './live-endpoints.ts'
import { LAYER_7_FIGURES } from '../../model/live-figures.ts'

export const l7Stats = liveEndpoints({
  name: 'l7Stats',
  base: '/{applianceID}/layer7proxy/stats',
  title: 'Layer 7',
  fields: LAYER_7_FIGURES,
  description:
    'Counters of one object, named after those of HAProxy in camelCase, if HAProxy has them for that type; null while unknown. A real server also has `state`: online, drained or halted, as applied.',
  specified: ['all', 'backends', 'backend', 'frontends'],
  figures: (ctx) => ctx.live,
})
