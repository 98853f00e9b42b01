import { Type } from 'typebox'
import t from 'tap'
import { endpoint } from '../../../src/api/endpoint.ts'
import { describe } from '../../../src/api/openapi-descriptions.ts'
import { closed } from '../../../src/model/fields.ts'
import { endpoints } from '../../../src/resources/index.ts'

const common = { path: '/things', summary: 's', message: 'm', handle: () => undefined } as const

t.test('parameters and the time of effect follow from the literal', async (test) => {
  const read = endpoint({ ...common, name: 'things.list', method: 'GET', effect: 'read' })
  test.equal(describe(read), 'Needs a role that grants it, and changes nothing.')
  test.match(describe({ ...read, access: 'public' }), /^Needs no login, and/)
  test.match(describe({ ...read, access: 'authenticated' }), /^Needs a login, but no role, and/)
  test.match(describe({ ...read, reveals: true }), /contains secrets/)
})

t.test('a staged operation says what the apply does with it, and which refusals are its own', async (test) => {
  const body = closed({ name: Type.String() })
  const create = endpoint({ ...common, name: 'realServers.create', method: 'POST', effect: 'stage', body })
  test.match(describe(create), /until the next apply, when HAProxy and keepalived apply it/)
  test.match(
    describe(create),
    /In addition to the general errors, it can fail with `NAME_NOT_UNIQUE`, .* and `NOT_SUPPORTED`\.$/,
  )
  test.match(describe({ ...create, name: 'novel.create' }), /when the affected programs are updated/)
})

t.test('an acting operation says so, after the text of the literal', async (test) => {
  const about = 'The program ends and starts again'
  const act = endpoint({ ...common, name: 'things.restart', method: 'PUT', effect: 'act', about, managedOnly: true })
  test.match(describe(act), /^The program ends and starts again\. Needs .* immediately, .*; a daemon in observe mode/)
  test.match(describe({ ...act, effect: 'apply' }), /is complete when the answer arrives/)
  test.match(describe({ ...act, effect: 'stage-and-act' }), /except for what takes effect immediately/)
})

t.test('the effect of an apply is described for every resource that stages its own records', async (test) => {
  const OF_ALL = new Set(['services', 'backups', 'revisions'])
  const staged = endpoints.filter(
    ({ effect, name }) => effect.startsWith('stage') && !OF_ALL.has(name.split('.')[0] ?? ''),
  )
  const unsaid = staged.filter((one) => /the affected programs are updated/.test(describe(one)))
  test.same(
    unsaid.map(({ name }) => name),
    [],
  )
  test.ok(staged.length > 60)
})
