import t from 'tap'
import { servedFrontends } from '../../../../src/drivers/keepalived/services.ts'
import {
  baseOf,
  configWeight,
  firstValue,
  valueOf,
  weightChange,
  weightFileName,
  weightValues,
  wholeWeights,
} from '../../../../src/drivers/keepalived/weights.ts'
import type { RealServer } from '../../../../src/model/real-server.ts'
import { l4Backend, l4Frontend, realServer } from '../../../fixtures/config.ts'
import { viewOf } from '../../../fixtures/view.ts'

const serve = (...states: readonly RealServer['state'][]) =>
  servedFrontends(
    viewOf({
      realServers: states.map((state, at) => realServer(`r${at}`, { ip: `10.0.0.${at + 1}`, state, weight: 50 })),
      l4Backends: [
        l4Backend(
          'be',
          states.map((_, at) => `r${at}`),
        ),
      ],
      l4Frontends: [l4Frontend('fe', 'be')],
    }),
  )

t.test('whichever weight keepalived has read, it and its file result in the share', (test) => {
  for (const share of [0, 1, 100, 256]) {
    for (const base of ['one', 'none'] as const) test.equal(configWeight(base) + valueOf(share, base), share)
  }
  test.equal(valueOf('halted', 'one'), -2147483648)
  test.end()
})

t.test('a halted server is read with weight 0, unless keepalived has no other weight', (test) => {
  const [mixed] = serve('online', 'halted')
  const [alone] = serve('halted')
  test.same(
    mixed?.destinations.map((one) => baseOf(one, mixed)),
    ['one', 'none'],
  )
  test.same(
    alone?.destinations.map((one) => baseOf(one, alone)),
    ['one'],
  )
  test.same(
    mixed?.destinations.map((one) => weightFileName(one, baseOf(one, mixed))),
    ['r0', 'r1.0'],
  )
  test.end()
})

t.test('after a boot no halted server takes new connections, and no file is beyond what keepalived creates', (test) => {
  test.equal(firstValue('halted', 'none'), 0)
  test.equal(firstValue('halted', 'one'), -1)
  test.equal(firstValue(256, 'one'), 254)
  test.equal(firstValue(100, 'one'), 99)
  test.end()
})

t.test('each share is stored for both weights that keepalived may have read', (test) => {
  test.same(Object.fromEntries(weightValues(serve('online', 'drained'))), {
    r0: '49\n',
    'r0.0': '50\n',
    r1: '-1\n',
    'r1.0': '0\n',
  })
  test.end()
})

t.test('a running keepalived gets the changes, whichever weight it has read', (test) => {
  const { values, ifThere } = weightChange(serve('online', 'online'), serve('drained', 'online'))
  test.same([Object.fromEntries(values), ifThere.size], [{ r0: '-1\n', 'r0.0': '0\n' }, 0])
  test.end()
})

t.test('a keepalived that reads its file computes most weights itself; the others are written', (test) => {
  const first = wholeWeights([], serve('online', 'drained', 'halted'))
  test.same([...first.values], [['r2.0', '-2147483648\n']])
  test.same([...first.ifThere.keys()], ['r0', 'r0.0', 'r1', 'r1.0', 'r2'])
  const same = serve('online', 'halted')
  test.same(wholeWeights(same, same).ifThere.size, 0, 'correct files are not read')
  test.same(
    [...wholeWeights(same, same).values.keys()],
    ['r1.0'],
    'except those that another file may have decided until now',
  )
  const unknown = wholeWeights(undefined, same)
  test.same([...unknown.values.keys()], ['r0', 'r0.0', 'r1', 'r1.0'], 'on an unknown machine any may be missing')
  test.end()
})
