import t from 'tap'
import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy(t, 'haproxy-reload', 'haproxy-runtime', 'certificate-replacement')
