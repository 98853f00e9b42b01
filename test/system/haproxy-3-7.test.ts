import t from 'tap'
import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy(t, 'access-logs', 'access-log-forwarding', 'access-log-forwarding-losses', 'access-log-syslog-api')
