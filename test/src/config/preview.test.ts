import t from 'tap'
import { effectOf, previewOf } from '../../../src/config/preview.ts'
import type { ChangeEffect, Driver } from '../../../src/drivers/driver.ts'
import type { ConfigView, RecordChange } from '../../../src/model/sections.ts'
import { realServer } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

function driver(
  name: string,
  effect: ChangeEffect | undefined,
  paths: (view: ConfigView) => readonly string[],
): Driver {
  return {
    name,
    sections: [],
    prepare: () => [],
    verify: () => [],
    plan: () => [
      {
        kind: 'unit',
        unit: 'layer7proxy',
        verb: 'reload',
        undo: 'reload',
        whenUnchanged: 'act',
        why: `reload ${name}`,
        timeout_ms: 1,
      },
    ],
    effectOf: () => effect,
    render: (view) => paths(view).map((path) => ({ path, content: `${[...view.list('realServers')].length}\n` })),
    diagnose: () => [],
  }
}

const NAMES = ['ssh', 'snmp', 'ntp'] as const
const BEFORE = viewOf({})
const AFTER = viewOf({ realServers: [realServer('a')] })
const CHANGE = {
  section: 'realServers',
  id: 'a',
  before: undefined,
  after: AFTER.get('realServers', 'a'),
} as RecordChange

t.test('a change has the highest cost of its drivers, and concerns those with a cost', (test) => {
  const effect = (...effects: readonly (ChangeEffect | undefined)[]) =>
    effectOf(
      effects.map((one, at) => driver(NAMES[at] ?? 'ntp', one, () => [])),
      CHANGE,
      BEFORE,
      AFTER,
    )
  test.same(effect('runtime', 'reload', undefined), { effect: 'reload', services: ['ssh', 'snmp'] })
  test.same(effect(undefined), { effect: 'runtime', services: [] })
  test.end()
})

t.test('new, changed and deleted files are shown; others are not', async (test) => {
  const isAfter = (view: ConfigView) => view === AFTER
  const drivers = [
    driver('ssh', 'reload', () => ['/same/path']),
    driver('snmp', 'reload', (view) => [isAfter(view) ? '/new' : '/old']),
  ]
  const { files, steps } = await previewOf(drivers, BEFORE, AFTER)
  test.match(files, [
    { path: '/same/path', diff: /-0\n\+1/ },
    { path: '/new', diff: /\+1/ },
    { path: '/old', diff: /-0/ },
  ])
  test.same(steps, [
    { kind: 'unit', why: 'reload ssh' },
    { kind: 'unit', why: 'reload snmp' },
  ])
})
