import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy('haproxy-reload', 'haproxy-runtime', 'certificate-replacement')
