import t from 'tap'
import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy(t, 'haproxy-answers', 'haproxy-maps', 'operators-day')
