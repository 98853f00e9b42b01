import t from 'tap'
import { coloured, printable, short, span, sparkline, table, widthOf } from '../../../src/cli/output.ts'

t.test('a table has columns, and fits the terminal', (test) => {
  const rows = [
    { name: 'web1', address: '192.0.2.1' },
    { name: 'a very long name of a server', address: '192.0.2.22' },
  ]
  test.equal(
    table(rows, ['name', 'address'], undefined),
    [
      'NAME                          ADDRESS',
      'web1                          192.0.2.1',
      'a very long name of a server  192.0.2.22',
      '',
    ].join('\n'),
  )
  for (const line of table(rows, ['name', 'address'], 30).trim().split('\n')) test.ok(widthOf(line) <= 30, line)
  test.match(table(rows, ['name', 'address'], 30), /a very long name …  192\.0\.2\.22/)
  test.equal(table([], ['name'], 80), 'NAME\n')
  const many = ['name', 'address', 'state', 'health', 'owner'] as const
  const long = Object.fromEntries(many.map((name) => [name, `${name} of a server`]))
  for (const line of table([long], many, 30).trim().split('\n')) test.ok(widthOf(line) <= 30, line)
  test.equal(table([long], many, 30), 'NAME      ADDRESS   STATE\nname of…  address…  state o…\n')
  test.end()
})

t.test('wide characters take two columns, and foreign text moves no cursor', (test) => {
  test.same(['web', '日本', 'é', 'e\u0301', '🙂'].map(widthOf), [3, 4, 1, 1, 2])
  test.equal(printable('a\u001b[2Jb\u202ec\nd'), 'a\ufffd[2Jb\ufffdc\ufffdd')
  test.notMatch(table([{ name: 'x\u001b[31m' }], ['name'], 80), '\u001b')
  test.end()
})

t.test('figures are short', (test) => {
  test.same([0, 7, 999, 1234, 25_000_000, 1.25, null, undefined].map(short), [
    '0',
    '7',
    '999',
    '1.2k',
    '25M',
    '1.3',
    '-',
    '-',
  ])
  test.same([5, 90, 7200, 200_000].map(span), ['5 s', '1 min', '2 h', '2 d'])
  test.equal(sparkline([0, null, 7, 14]), '▁ ▅█')
  test.equal(sparkline([0, 0]), '▁▁')
  test.equal(sparkline([0, 0, null, null, 8, null, 2, 2], 4), '▁ █▃', 'several values per bar where there are too many')
  test.equal(sparkline([1, 2, 3, 4, 5], 3), '▃▅█')
  test.same(
    [coloured({ hasColour: false }, 'red', 'x'), coloured({ hasColour: true }, 'red', 'x')],
    ['x', '\u001b[31mx\u001b[0m'],
  )
  test.end()
})

t.test('a span is not longer than it is', (test) => {
  const days = 86_400
  const told = [29.98 * days, 30 * days, 1.5 * days, 5400, 3599.6, 60, 59.9, 0].map(span)
  test.same(told, ['29 d', '30 d', '1 d', '1 h', '59 min', '1 min', '59 s', '0 s'])
  test.end()
})
