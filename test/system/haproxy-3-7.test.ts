import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy('access-logs', 'access-log-forwarding', 'access-log-forwarding-losses', 'access-log-syslog-api')
