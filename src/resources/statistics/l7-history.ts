import { historyEndpoints } from './history-endpoints.ts'

export const l7History = historyEndpoints({
  name: 'l7History',
  base: '/{applianceId}/layer7proxy/stats',
  title: 'Layer 7',
  isExtension: false,
  figures: (ctx) => ctx.history,
})
