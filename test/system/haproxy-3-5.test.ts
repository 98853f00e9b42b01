import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy('haproxy-answers', 'haproxy-maps', 'operators-day')
