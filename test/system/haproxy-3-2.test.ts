import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy('main-job', 'observe-reloads', 'haproxy-http3')
