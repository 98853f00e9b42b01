import t from 'tap'
import type { HistoryFigures } from '../../../../src/context/figures.ts'
import { CORE_METRICS, METRICS } from '../../../../src/model/metrics.ts'
import { historyEndpoints } from '../../../../src/resources/statistics/history-endpoints.ts'

t.test('a layer has four histories of one object and three of several, under its base and its name', (t) => {
  const figures: HistoryFigures = {
    frontend: () => undefined,
    backend: () => undefined,
    backendReals: () => undefined,
    rip: () => undefined,
    none: () => undefined,
    kindsOf: () => [],
    several: () => undefined,
  }
  const made = historyEndpoints({
    name: 'some',
    base: '/{applianceId}/some',
    title: 'Layer 5',
    isExtension: true,
    metrics: { frontend: CORE_METRICS, backend: METRICS, server: METRICS },
    figures: () => figures,
  })
  t.strictSame(
    made.map(({ name, path, extension }) => `${name} ${path} ${extension}`),
    [
      'some.backend /{applianceId}/some/backends/{id}/history true',
      'some.frontend /{applianceId}/some/frontends/{id}/history true',
      'some.backendRips /{applianceId}/some/rips/backend/{id}/history true',
      'some.rip /{applianceId}/some/rips/{id}/history true',
      'some.backends /{applianceId}/some/backends/history true',
      'some.frontends /{applianceId}/some/frontends/history true',
      'some.rips /{applianceId}/some/rips/history true',
    ],
  )
  t.ok(
    made.every(
      ({ summary, produces }) => /History of .*(Layer 5|backend)/.test(summary) && produces.includes('text/csv'),
    ),
  )
  t.end()
})
