import t from 'tap'
import { formatFor } from '../../../src/metrics/formats.ts'

t.test('the format: OpenMetrics for clients that name it and prefer it at least equally', async (test) => {
  const asked = (accept: string) => formatFor(accept)
  for (const accept of ['', '*/*', 'text/plain', 'text/html,*/*;q=0.8', 'application/json'])
    test.equal(asked(accept), 'prometheus', accept)
  const prometheus =
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'
  test.equal(asked(prometheus), 'openmetrics', 'the header of Prometheus 2.42')
  test.equal(asked('application/openmetrics-text; version=1.0.0'), 'openmetrics')
  test.equal(asked('application/openmetrics-text;q=0.3, text/plain;q=0.5'), 'prometheus')
  test.equal(asked('application/openmetrics-text;q=0'), 'prometheus')
})
