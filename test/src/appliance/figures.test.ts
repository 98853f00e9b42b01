import t from 'tap'
import { figuresOf } from '../../../src/appliance/figures.ts'
import { ObservedNames } from '../../../src/observe/observed-names.ts'

const none = { masterSocket: undefined, statsSocket: undefined }
const running = new ObservedNames()

t.test('from the managed HAProxy, or the observed one', async (test) => {
  test.strictSame(figuresOf({ observe: undefined, state: '/s' }, { masterSocket: '/m', statsSocket: '/s' }, running), {
    archive: { directory: '/s/archive', source: { kind: 'master-socket', path: '/m', statsSocket: '/s' } },
    names: running,
  })
  const observe = { host: '127.0.0.1', port: 1 }
  const { archive, names, observer } = figuresOf({ observe, state: '/s' }, none, running)
  test.strictSame(archive.source, { kind: 'any-socket', host: '127.0.0.1', port: 1 })
  test.not(names, running)
  test.equal<unknown>(names, observer, 'names come from the answers')
  test.throws(() => figuresOf({ observe: undefined, state: '/s' }, none, running))
})
