import { onNextHaproxy } from './next-haproxy.ts'

await onNextHaproxy(
  'haproxy-reload',
  'haproxy-runtime',
  'certificate-replacement',
  'main-job',
  'observe-reloads',
  'haproxy-answers',
  'haproxy-http3',
  'haproxy-maps',
  'operators-day',
)
