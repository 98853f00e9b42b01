import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy('host-names', 'host-names-daemon')
