import t from 'tap'
import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy(t, 'main-job', 'observe-reloads', 'haproxy-http3')
