import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy(
  'haproxy-adoption',
  'haproxy-balancing',
  'reload-accounting',
  'preloaded-counters',
  'health-check-haproxy',
  'haproxy-sharing',
  'haproxy-rules',
  'haproxy-history',
)
