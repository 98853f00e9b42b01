import t from 'tap'
import { figuresOf } from '../../../src/observe/figures.ts'
import { ObservedNames } from '../../../src/observe/observed-names.ts'

const none = { masterSocket: undefined, statsSocket: undefined }
const running = new ObservedNames()

t.test('of the managed HAProxy, or of the observed one', async (test) => {
  test.strictSame(figuresOf(undefined, { masterSocket: '/m', statsSocket: '/s' }, running), {
    source: { kind: 'master-socket', path: '/m', statsSocket: '/s' },
    names: running,
  })
  const { source, names, observer } = figuresOf({ host: '127.0.0.1', port: 1 }, none, running)
  test.strictSame(source, { kind: 'any-socket', host: '127.0.0.1', port: 1 })
  test.not(names, running)
  test.equal<unknown>(names, observer, 'names come from the answers')
  test.throws(() => figuresOf(undefined, none, running))
})
