import { Type } from 'typebox'
import t from 'tap'
import type { LiveView } from '../../../../src/context/figures.ts'
import { liveEndpoints } from '../../../../src/resources/statistics/live-endpoints.ts'
import { Reply } from '../../../../src/api/reply.ts'

const FIGURES = { sessions: Type.Integer({ description: 'Sessions.' }) }

function made(found: boolean) {
  const asked: LiveView[] = []
  const render = (view: LiveView) => {
    asked.push(view)
    return found ? { body: 'rendered' } : undefined
  }
  const endpoints = liveEndpoints({
    name: 'some',
    base: '/some',
    title: 'Layer 5',
    fields: { frontend: FIGURES, backend: FIGURES, server: FIGURES },
    description: 'Figures.',
    specified: ['all'],
    figures: () => ({ render, health: () => 'unknown' }),
  })
  return { asked, endpoints }
}

t.test('a layer has every object, each kind, and one of each; additions to the specification are extensions', (t) => {
  const { asked, endpoints } = made(true)
  t.strictSame(
    endpoints.map(({ path, extension }) => `${path}${extension ? ' +' : ''}`),
    [
      '/some',
      '/some/backends +',
      '/some/backends/{id} +',
      '/some/frontends +',
      '/some/frontends/{id} +',
      '/some/rips +',
      '/some/rips/backend/{id} +',
      '/some/rips/{id} +',
    ],
  )
  for (const endpoint of endpoints) {
    const answer = endpoint.handle({} as never, { params: { id: 'x' } } as never, undefined as never)
    t.ok(answer instanceof Reply && answer.rendered?.body === 'rendered', endpoint.name)
  }
  const kinds = ['all', 'backends', 'backend', 'frontends', 'frontend', 'rips', 'backend-rips', 'rip']
  t.strictSame(
    asked.map(({ kind }) => kind),
    kinds,
  )
  t.equal(asked.filter((view) => 'id' in view && view.id === 'x').length, 4)
  t.end()
})

t.test('objects that are not running are refused', (t) => {
  const [, , backend] = made(false).endpoints
  const call = () => backend?.handle({} as never, { params: { id: 'x' } } as never, undefined as never)
  t.throws(call, { code: 'NOT_FOUND', message: /after apply/ })
  t.end()
})
