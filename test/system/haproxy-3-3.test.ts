import t from 'tap'
import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy(t, 'haproxy-adoption', 'haproxy-balancing', 'reload-accounting', 'haproxy-sharing', 'haproxy-rules')
