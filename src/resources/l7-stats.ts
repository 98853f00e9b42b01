import { liveEndpoints } from '../api/live-endpoints.ts'

export const l7Stats = liveEndpoints({
  name: 'l7Stats',
  base: '/{applianceID}/layer7proxy/stats',
  title: 'Layer 7',
  required: ['id', 'name', 'status'],
  description:
    'Counters of one object, named after HAProxy’s in camelCase, each where HAProxy keeps it for that type; null while unknown.',
  specified: ['all', 'backends', 'backend', 'frontends'],
  figures: (ctx) => ctx.live,
})
