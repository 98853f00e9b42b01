import t from 'tap'
import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy(t, 'preloaded-counters', 'health-check-haproxy', 'haproxy-history')
