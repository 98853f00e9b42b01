import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy('haproxy-adoption', 'haproxy-balancing', 'reload-accounting', 'haproxy-sharing', 'haproxy-rules')
