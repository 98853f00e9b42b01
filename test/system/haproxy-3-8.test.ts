import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy('acme-tls-alpn')
