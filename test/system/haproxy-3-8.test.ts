import t from 'tap'
import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy(t, 'acme-tls-alpn')
