import t from 'tap'
import { type Greeting, greetingLines } from '../../../../src/daemon/nodes/greeting.ts'

const node = (number: number) => {
  const listen = { host: `127.0.0.${number}`, port: 9443 }
  return {
    place: { number, state: `/s/node-${number}`, listen, http: undefined, metrics: undefined, peer: listen },
    pid: 100 + number,
  }
}
const greeting: Greeting = {
  nodes: [node(1), node(2), node(3)],
  email: 'a@b.c',
  password: 'made-up',
  isFirst: true,
  demo: { frontend: 8080, origins: [1, 2] },
  pid: 99,
}
const text = (more: Partial<Greeting> = {}) => greetingLines({ ...greeting, ...more }).join('\n')

t.test('the first start shows the administrator', async (t) => {
  t.match(text(), /Node 3 {9}https:\/\/127\.0\.0\.3:9443\/api\/v1 {3}\(process 103\)\n/)
  t.match(text(), /Administrator {2}a@b\.c\n {2}Password {7}made-up {3}\(shown only once\)\n/)
  t.match(text(), 'http://127.0.0.1:8080/ http://127.0.0.2:8080/ http://127.0.0.3:8080/')
  t.match(text(), '/s/node-N/daemon.log')
  t.match(text(), `-d '{"email":"a@b.c","password":"made-up"}'`)
  t.match(text({ password: undefined }), /Password {7}the one in FULCRUM_ADMIN_PASSWORD\n/)
})

t.test('a later one shows the existing state', async (t) => {
  const later = text({ isFirst: false, password: undefined, demo: undefined })
  t.notMatch(later, /Administrator|Demo|undefined/)
  t.match(later, `"password":"YOURS"`)
  t.match(later, /kill 102; .*\n.*kill -USR2 99 /)
})

t.test('a node that does not run is not offered for a kill', async (t) => {
  const [one, two, three] = [node(1), { ...node(2), pid: undefined }, node(3)]
  t.match(text({ nodes: [one, two, three] }), /Node 2 .*\(does not run\)\n[^]*kill 103; .*# node 3 is/)
  t.notMatch(text({ nodes: [one, two] }), /kill/)
})
