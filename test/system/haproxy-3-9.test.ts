import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy('acme-passing', 'srv-names')
