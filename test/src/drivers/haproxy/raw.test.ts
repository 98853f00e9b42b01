import t from 'tap'
import { differenceOf } from '../../../../src/drivers/haproxy/changes.ts'
import { rawOfProxy } from '../../../../src/drivers/haproxy/raw.ts'
import { renderConfig } from '../../../../src/drivers/haproxy/render.ts'
import { type L7Raw, NO_RAW } from '../../../../src/model/l7-raw.ts'
import { backend, frontend, realServer } from '../../../fixtures/config.ts'
import { PATHS, viewOf } from './records.ts'

const site = {
  realServers: [realServer('r')],
  l7Backends: [backend('be', ['r'])],
  l7Frontends: [frontend('fe', 'be', { rules: [{ do: { type: 'deny' } }] })],
}
const raw = (more: Partial<Omit<L7Raw, 'id'>>) => [{ id: 'cluster', ...NO_RAW, ...more }]

t.test('raw lines are at the end of global and defaults, before rules and before servers', async (test) => {
  const view = viewOf({
    ...site,
    l7Raw: raw({
      global: ['nbthread 2'],
      defaults: ['option dontlognull'],
      frontends: [{ id: 'fe', lines: ['option http-buffer-request'] }],
      backends: [
        { id: 'be', lines: ['default-server inter 9s', 'option log-health-checks'] },
        { id: 'gone', lines: ['option nothing'] },
      ],
    }),
  })
  const text = renderConfig(view, PATHS)
  const order = [
    'global',
    '    # Raw lines\n    nbthread 2\n\ndefaults',
    '    # Raw lines\n    option dontlognull\n\n# fe',
    '    # Raw lines\n    option http-buffer-request\n    http-request del-header',
    '    # Raw lines\n    default-server inter 9s\n    option log-health-checks\n    # r\n    server r',
  ].map((part) => text.indexOf(part))
  test.notOk(order.includes(-1), text)
  test.same(
    order,
    order.toSorted((a, b) => a - b),
  )
  test.notMatch(text, /nothing/)
})

t.test('each is traced to its place, and any change of them is a reload', async (test) => {
  const withLines = (...lines: string[]) =>
    viewOf({
      ...site,
      l7Raw: raw({
        backends: [
          { id: 'x', lines: [] },
          { id: 'be', lines },
        ],
      }),
    })
  const before = withLines('option a', 'option b')
  test.same(
    rawOfProxy(before, 'backends', 'be').map(({ owner }) => owner?.field),
    ['backends.1.lines', 'backends.1.lines.0', 'backends.1.lines.1'],
  )
  test.equal(differenceOf(before, withLines('option a')), 'reload')
  test.same(differenceOf(before, before), [])
})
