import t from 'tap'
import { contexts } from '../../../src/appliance/request-context.ts'
import type { Asked } from '../../../src/http/admission.ts'
import { ANYTHING, configFixture, realServer } from '../../fixtures/config.ts'

const ANNA = { userId: 'u1', email: 'anna@localhost', sessionId: 's' }

t.test('a context passes on what is shared, and names the caller', async (test) => {
  const { store, editing, edit } = configFixture(test)
  await edit((draft) => draft.section('realServers').create(realServer('a')))
  const jobs = { list: () => [] }
  const asked: (readonly [email: string, endpoint: string])[] = []
  const may = ({ email }: typeof ANNA, endpoint: string) => (asked.push([email, endpoint]), ANYTHING())
  const parts = { store, editing, access: { may }, observed: undefined }
  // One capability represents all of them.
  const create = contexts({ jobs, nodeId: 'n' } as never, parts as never)
  const route = { endpoint: { name: 'x', effect: 'read', outsideTransactions: false } }
  const incoming = { address: '192.0.2.1' }
  const context: object = create({ route, incoming, actor: ANNA } as unknown as Asked, undefined, undefined)
  test.same(Object.keys(context), ['work', 'actor', 'client'], 'nothing shared is copied')
  test.match(context, { jobs, nodeId: 'n', actor: ANNA, client: incoming })
  test.equal(Reflect.apply(Reflect.get(context, 'may'), context, ['jobs.list']), true)
  test.same(asked, [[ANNA.email, 'jobs.list']])
  const section: unknown = Reflect.apply(Reflect.get(context, 'section'), context, ['realServers'])
  test.match(Reflect.get(Object(section), 'list')(), [{ id: 'a' }])
})
