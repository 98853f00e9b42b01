import t from 'tap'
import type { CheckStep, KeepOnlyStep } from '../../../../src/drivers/driver.ts'
import { haproxyDriver } from '../../../../src/drivers/haproxy/driver.ts'
import { type Sharing, sharesTable } from '../../../../src/drivers/haproxy/sharing.ts'
import { backend, frontend, realServer } from '../../../fixtures/config.ts'
import { PATHS, viewOf } from './records.ts'

const FOLDER = '/run/fulcrum/fulcrum-certs'
const sharing: Sharing = {
  self: 'node-1',
  ip: '192.0.2.1',
  port: 9447,
  own: 'own certificate\nPRIVATE KEY\n',
  named: 'own certificate\nother certificate\n',
  others: [
    { id: 'node-2', ip: '192.0.2.2', port: 9447 },
    { id: 'node-3', ip: '2001:db8::3', port: 19_447 },
  ],
}
const told: { sharing: Sharing | undefined } = { sharing }
const driver = haproxyDriver(PATHS, () => told)
const viewWith = (type: 'ip' | 'cookie', enabled = true, weight = 1) =>
  viewOf({
    realServers: [realServer('r1', { weight })],
    l7Frontends: [frontend('f', 'b')],
    l7Backends: [backend('b', ['r1'], { persistence: { type }, enabled })],
  })
const textOf = (view: ReturnType<typeof viewWith>) => driver.render(view)[0]?.content ?? ''

t.test('a node of a cluster shares its tables with the others, with a dedicated key', (t) => {
  const text = textOf(viewWith('ip'))
  const tls = `ssl crt ${FOLDER}/node.peers ca-file ${FOLDER}/nodes.peers verify required ssl-min-ver TLSv1.3`
  const peers = [
    'peers fulcrum_peers',
    `    bind 192.0.2.1:9447 transparent ${tls}`,
    `    default-server ${tls}`,
    '    server node-1',
    '    server node-2 192.0.2.2:9447',
    '    server node-3 [2001:db8::3]:19447',
  ]
  t.ok(text.includes(`\n${peers.join('\n')}\n`), text)
  t.match(text, /^ {4}localpeer node-1$/m)
  t.match(text, /^ {4}stick-table .* peers fulcrum_peers$/m)
  t.end()
})

t.test('its files are written before the file that names them is checked, and are never shown', (t) => {
  const steps = driver.plan(undefined, viewWith('ip'), { atLeast: 'runtime' })
  const check = steps.find((step): step is CheckStep => step.kind === 'check')
  t.same(check?.beside, [
    { path: `${FOLDER}/node.peers`, content: sharing.own },
    { path: `${FOLDER}/nodes.peers`, content: sharing.named },
  ])
  t.equal(check?.mode, 0o600)
  const kept = steps.find((step): step is KeepOnlyStep => step.kind === 'keepOnly' && step.folder === FOLDER)
  t.same(kept?.names, ['node.peers', 'nodes.peers'])
  t.notOk(JSON.stringify(driver.render(viewWith('ip'))).includes('PRIVATE KEY'))
  t.end()
})

t.test('without tables nothing is shared, and no port is open', (t) => {
  for (const view of [viewWith('cookie'), viewWith('ip', false)]) {
    t.notOk(sharesTable(view))
    t.match(textOf(view), /^ {4}localpeer fulcrum$/m)
    t.notMatch(textOf(view), /^peers /m)
    const [check] = driver.plan(undefined, view, { atLeast: 'runtime' })
    t.match(check, { kind: 'check', beside: [] })
  }
  t.end()
})

t.test('a node without a cluster has its old file', (t) => {
  told.sharing = undefined
  t.equal(textOf(viewWith('ip')), haproxyDriver(PATHS).render(viewWith('ip'))[0]?.content)
  t.match(
    textOf(viewWith('ip')),
    /^peers fulcrum_peers\n {4}bind unix@\/run\/fulcrum\/peers\.sock mode 600\n {4}server fulcrum$/m,
  )
  const runAs = { user: 'haproxy', group: 'haproxy' }
  t.match(
    haproxyDriver({ ...PATHS, runAs }).render(viewWith('ip'))[0]?.content,
    /^ {4}bind unix@\/run\/fulcrum\/peers\.sock user haproxy mode 600$/m,
    'workers of another account can connect',
  )
  told.sharing = sharing
  t.end()
})

t.test('changes of servers still need no reload', (t) => {
  const kinds = driver.plan(viewWith('ip'), viewWith('ip', true, 2), { atLeast: 'runtime' }).map(({ kind }) => kind)
  t.same(kinds, ['socket', 'replaceFile'])
  t.end()
})
