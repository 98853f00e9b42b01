import t from 'tap'
import type { Step } from '../../../../src/drivers/driver.ts'
import { mapFiles, mapSteps, mapTidying, ruleGroups } from '../../../../src/drivers/haproxy/maps.ts'
import type { Condition, Rule } from '../../../../src/model/l7-rules.ts'
import { backend, frontend } from '../../../fixtures/config.ts'
import { PATHS, viewOf } from './records.ts'

/** The effect on requests is in test/system/haproxy-rules, and changes at runtime in test/system/haproxy-maps. */

const to = (backendId: string, condition: Partial<Condition>, more: Partial<Rule> = {}): Rule => ({
  when: { all: [{ type: 'host', values: [], ...condition }] },
  do: { type: 'backend', backendId },
  ...more,
})
const view = (rules: readonly Rule[], more: object = {}) =>
  viewOf({
    l7Frontends: [frontend('f', null, { rules: [...rules], ...more })],
    l7Backends: [backend('a', []), backend('b', []), backend('off', [], { enabled: false })],
  })
const files = (...rules: readonly Rule[]) =>
  mapFiles(view(rules), PATHS).map(({ path, content }) => `${path.split('/').at(-1)}: ${content.trim()}`)
const socketOf = (steps: readonly Step[]) => steps.flatMap((step) => (step.kind === 'socket' ? [step] : []))
const asked = (before: readonly Rule[], after: readonly Rule[]) =>
  socketOf(mapSteps(view(before), view(after), PATHS)).map(({ commands, undo }) => ({
    commands: commands.map(({ request }) => request.replaceAll('/run/fulcrum/fulcrum-maps/', '')),
    undo: undo.map(({ request }) => request.replaceAll('/run/fulcrum/fulcrum-maps/', '')),
  }))[0]

t.test('consecutive rules that look up the same thing are one group', (test) => {
  const rules: Rule[] = [
    to('a', { values: ['a.test'] }),
    to('b', { values: ['b.test'], match: 'is' }),
    to('b', { type: 'path', values: ['/b'] }),
    to('b', { type: 'path', values: ['/b'], match: 'begins' }),
    { do: { type: 'setHeader', name: 'X', value: 'y' } },
    to('a', { values: ['c.test'] }),
    to('a', { values: ['d.test'], negate: true }),
    to('a', { values: ['.e.test'], match: 'ends' }),
    to('a', { type: 'path', values: ['/with a space'] }),
    {
      when: {
        any: [
          { type: 'host', values: ['f.test'] },
          { type: 'path', values: ['/f'] },
        ],
      },
      do: { type: 'deny' },
    },
  ]
  test.same(
    ruleGroups(rules).map(({ at, rules: of, lookedUp }) => [at, of.length, lookedUp?.type]),
    [
      [0, 2, 'host'],
      [2, 1, 'path'],
      [3, 1, 'path'],
      [4, 1, undefined],
      [5, 1, 'host'],
      [6, 1, undefined],
      [7, 1, undefined],
      [8, 1, undefined],
      [9, 1, undefined],
    ],
  )
  test.end()
})

t.test('the files have the content of the list', (test) => {
  test.same(
    files(
      to('a', { values: ['WWW.a.test', 'a.test'] }, { name: 'A\u2028 #' }),
      to('b', { values: ['b.test', 'a.test'] }),
      to('off', { values: ['off.test'] }),
    ),
    ['f.r0.map: # A  #\nwww.a.test a\na.test a\nb.test b\noff.test -'],
    'the first counts, and names are case-insensitive',
  )
  const begins = { type: 'path', match: 'begins' } as const
  test.same(
    files(to('a', { ...begins, values: ['/x/y'] }), to('b', { ...begins, values: ['/x', '/x/z', '/X'] })),
    ['f.r0.map: /x/y a\n/x b\n/X b'],
    'a longer one that comes later never counts',
  )
  const source: Condition = { type: 'source', match: 'in', values: ['10.0.0.0/8', '::1', '::1'] }
  test.same(files({ when: { all: [source] }, do: { type: 'deny' } }), ['f.r0c0.acl: 10.0.0.0/8\n::1'])
  test.same(mapFiles(view([to('a', { values: ['a.test'] })], { enabled: false }), PATHS), [])
  test.end()
})

t.test('a running HAProxy gets the differences, and their undo', (test) => {
  const before = [to('a', { values: ['a.test', 'gone.test'] }), to('b', { values: ['moved.test'] })]
  const after = [to('a', { values: ['a.test', 'moved.test'] }), to('b', { values: ['new.test'] })]
  test.same(asked(before, after), {
    commands: ['@1 add map f.r0.map new.test b', '@1 set map f.r0.map moved.test a', '@1 del map f.r0.map gone.test'],
    undo: ['@1 add map f.r0.map gone.test a', '@1 set map f.r0.map moved.test b', '@1 del map f.r0.map new.test'],
  })
  const from = (...values: string[]): Rule => ({ when: { all: [{ type: 'source', values }] }, do: { type: 'deny' } })
  test.same(asked([from('192.0.2.1')], [from('192.0.2.0/24')])?.commands, [
    '@1 add acl f.r0c0.acl 192.0.2.0/24',
    '@1 del acl f.r0c0.acl 192.0.2.1',
  ])
  test.equal(asked(before, before), undefined)
  const named = before.map((rule) => ({ ...rule, name: 'called' }))
  const steps = mapSteps(view(before), view(named), PATHS)
  test.same(
    steps.map(({ kind }) => kind),
    ['replaceFile'],
    'a name is a comment',
  )
  test.end()
})

t.test('an unused map is deleted', (test) => {
  const [with_, without] = [view([to('a', { values: ['a.test'] })]), view([])]
  test.match(mapTidying(with_, without, PATHS), [{ kind: 'keepOnly', names: [] }])
  test.same(mapTidying(with_, with_, PATHS), [])
  test.same(mapTidying(undefined, without, PATHS), [])
  test.match(mapTidying(undefined, with_, PATHS), [{ names: ['f.r0.map'] }])
  test.end()
})
