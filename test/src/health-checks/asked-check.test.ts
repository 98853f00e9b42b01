import t from 'tap'
import { askedCheck, flagsOf } from '../../../src/health-checks/asked-check.ts'

t.test('types are the built-in checks of their names', async (test) => {
  test.equal(askedCheck({ type: 'none' }), undefined)
  const pace = { interval: 2, rise: undefined, fall: 3 }
  test.strictSame(askedCheck({ type: 'tcp', path: '/x' }), { id: 'tcp', values: {}, ...pace })
  test.strictSame(askedCheck({ type: 'https', path: '/x', host: 'h', interval: 5, rise: 1, fall: 2 }), {
    id: 'https',
    values: { path: '/x', host: 'h' },
    interval: 5,
    rise: 1,
    fall: 2,
  })
  test.strictSame(askedCheck({ type: 'script', id: 'dns', parameters: { name: 'a' } }), {
    id: 'dns',
    values: { name: 'a' },
    ...pace,
  })
})

t.test('flags are in the order of the declarations, with defaults', async (test) => {
  const parameters = [
    { name: 'a', type: 'string', default: 'x y' },
    { name: 'b', type: 'string' },
    { name: 'c', type: 'string' },
  ] as const
  test.strictSame(flagsOf({ parameters: [...parameters] }, { c: '', a: "'" }), ["--a='", '--c='])
  test.strictSame(flagsOf({ parameters: [...parameters] }, {}), ['--a=x y'])
})
