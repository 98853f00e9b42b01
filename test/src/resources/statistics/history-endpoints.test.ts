import t from 'tap'
import type { HistoryFigures } from '../../../../src/context/figures.ts'
import { historyEndpoints } from '../../../../src/resources/statistics/history-endpoints.ts'

t.test('a layer has four histories, under its base and its name', (t) => {
  const figures: HistoryFigures = {
    frontend: () => undefined,
    backend: () => undefined,
    backendReals: () => undefined,
    rip: () => undefined,
    none: () => undefined,
  }
  const made = historyEndpoints({
    name: 'some',
    base: '/{applianceId}/some',
    title: 'Layer 5',
    isExtension: true,
    figures: () => figures,
  })
  t.strictSame(
    made.map(({ name, path, extension }) => `${name} ${path} ${extension}`),
    [
      'some.backend /{applianceId}/some/backends/{id}/history true',
      'some.frontend /{applianceId}/some/frontends/{id}/history true',
      'some.backendRips /{applianceId}/some/rips/backend/{id}/history true',
      'some.rip /{applianceId}/some/rips/{id}/history true',
    ],
  )
  t.ok(
    made.every(
      ({ summary, produces }) => /History of .*(Layer 5|backend)/.test(summary) && produces.includes('text/csv'),
    ),
  )
  t.end()
})
