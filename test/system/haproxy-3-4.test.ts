import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy(
  'host-names',
  'host-names-daemon',
  'access-logs',
  'access-log-forwarding',
  'access-log-forwarding-losses',
  'access-log-syslog-api',
)
