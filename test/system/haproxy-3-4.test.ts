import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy('preloaded-counters', 'health-check-haproxy', 'haproxy-history')
