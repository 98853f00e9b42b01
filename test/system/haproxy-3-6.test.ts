import t from 'tap'
import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy(t, 'host-names', 'host-names-daemon')
