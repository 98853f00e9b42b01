import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { addressOf, Contexts, socketPathOf } from '../../../src/cli/contexts.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

const LB1 = { url: 'https://lb1:9443', token: 'one', user: 'ann' }
const LB2 = { url: 'https://lb2:9443', token: 'two', user: 'ann', fingerprint: 'AA:BB' }

t.test('contexts are stored in a file that no other user can read', (test) => {
  const contexts = new Contexts({ HOME: temporaryFolder(test, 'home') })
  test.throws(() => contexts.chosen(undefined), { message: /not logged in; run fulcrum login/ })
  contexts.keep('lb1', LB1)
  contexts.keep('lb2', LB2)
  test.equal(statSync(contexts.path).mode & 0o777, 0o600)
  test.equal(statSync(dirname(contexts.path)).mode & 0o777, 0o700)
  test.same(readdirSync(dirname(contexts.path)), ['contexts.json'])
  test.same(contexts.chosen(undefined), LB2, 'the last one')
  test.same(contexts.chosen('lb1'), LB1)
  contexts.use('lb1')
  test.same(contexts.chosen(undefined), LB1)
  test.throws(() => contexts.use('constructor'), { message: /there is no context constructor/ })
  contexts.keep('lb3', LB1)
  test.equal(contexts.remove('lb2'), false, 'another one is current')
  test.equal(contexts.remove('lb3'), true)
  test.same(contexts.all(), { current: '', contexts: { lb1: LB1 } })
  test.throws(() => contexts.chosen(undefined), { message: /no context is selected: choose one with fulcrum contexts/ })
  test.equal(contexts.remove('lb1'), false, 'none is left')
  test.throws(() => contexts.chosen(undefined), { message: /not logged in/ })
  test.end()
})

t.test('the environment overrides the file, and a name overrides both', (test) => {
  const home = temporaryFolder(test, 'home')
  new Contexts({ HOME: home }).keep('lb1', LB1)
  const env = { HOME: home, FULCRUM_URL: 'https://ci:9443/', FULCRUM_TOKEN: 'three' }
  test.match(new Contexts(env).chosen(undefined), { url: 'https://ci:9443', token: 'three' })
  for (const url of ['http://192.0.2.1:9443', 'non sense'])
    test.throws(() => new Contexts({ ...env, FULCRUM_URL: url }).chosen(undefined), {
      message: /is not encrypted|not a URL/,
    })
  test.same(new Contexts(env).chosen('lb1'), LB1)
  test.throws(() => new Contexts({ HOME: home, FULCRUM_URL: 'https://x' }).chosen(undefined), {
    message: /FULCRUM_TOKEN is not/,
  })
  new Contexts({ HOME: home }).keep('lb2', LB2)
  const named = new Contexts({ HOME: home, FULCRUM_CONTEXT: 'lb1' })
  test.same([named.chosen(undefined), named.nameOf(undefined), named.nameOf('lb2')], [LB1, 'lb1', 'lb2'])
  test.same([new Contexts({ HOME: home, FULCRUM_CONTEXT: '' }).nameOf(undefined)], ['lb2'], 'the current one')
  test.same([new Contexts(env).nameOf(undefined), new Contexts(env).nameOf('lb1')], [undefined, 'lb1'])
  test.end()
})

t.test('a damaged file is named', (test) => {
  const contexts = new Contexts({ XDG_CONFIG_HOME: temporaryFolder(test, 'home') })
  mkdirSync(dirname(contexts.path), { recursive: true })
  const strange = [
    'null',
    '{}',
    '{"url": 5, "user": ""}',
    '{"url": "x", "user": ""}',
    '{"url": "https://a", "user": 1}',
  ]
  const others = [
    ...strange.map((one) => `{"contexts": {"a": ${one}}}`),
    '{"contexts": []}',
    '{"current": {}, "contexts": {}}',
  ]
  for (const text of ['{"current":', '{}', '7', ...others]) {
    writeFileSync(contexts.path, text)
    test.throws(() => contexts.all(), { message: /contexts\.json is damaged/ })
  }
  test.end()
})

t.test("without a login, the user's own daemon on this machine is used", async (test) => {
  const home = temporaryFolder(test, 'home')
  const socket = join(home, 'api.sock')
  const contexts = new Contexts({ HOME: home }, [join(home, 'none.sock'), socket])
  test.throws(() => contexts.chosen(undefined), { message: /not logged in/ })
  test.throws(() => contexts.chosen('local'), { message: /no daemon is running here under your account/ })
  const server = createServer().listen(socket)
  await once(server, 'listening')
  test.teardown(() => server.close())
  const local = { url: `unix:${socket}`, user: '' }
  test.same(contexts.chosen(undefined), local)
  test.equal(socketPathOf(local.url), socket)
  test.equal(socketPathOf('https://lb1'), undefined)
  contexts.keep('lb1', LB1)
  test.same(contexts.chosen(undefined), LB1, 'a login takes precedence')
  test.same(contexts.chosen('local'), local, 'except by its name')
  contexts.keep('local', LB2)
  test.same(contexts.chosen('local'), LB2, 'which another context may have')
  writeFileSync(join(home, 'none.sock'), '')
  test.same(
    new Contexts({ HOME: temporaryFolder(test, 'empty') }, [join(home, 'none.sock')]).all().contexts,
    {},
    'a file is no socket',
  )
  test.throws(
    () => new Contexts({ HOME: temporaryFolder(test, 'empty') }, [join(home, 'none.sock')]).chosen(undefined),
    { message: /not logged in/ },
  )
  const named = new Contexts({ HOME: home, FULCRUM_URL: 'unix:/elsewhere.sock' })
  test.match(named.chosen(undefined), { url: 'unix:/elsewhere.sock', token: undefined })
})

t.test('an address is a scheme, a host and a port', (test) => {
  test.same(['LB1:9443', 'https://lb1:9443//', 'http://[::1]:80'].map(addressOf), [
    'https://lb1:9443',
    'https://lb1:9443',
    'http://[::1]',
  ])
  for (const given of ['https://ann:pw@lb1:9443', 'http://:pw@lb1', 'ann:pw@lb1'])
    test.throws(() => addressOf(given), { message: 'the URL must not contain a user or password: use --user' })
  for (const path of ['/api', '/?a', '#a'])
    test.throws(() => addressOf(`lb1:9443${path}`), { message: /has a path: use https:\/\/lb1:9443$/ })
  test.end()
})

t.test('an empty variable counts as unset', (test) => {
  const pathOf = (env: Readonly<Record<string, string>>) => new Contexts(env).path
  test.equal(pathOf({ XDG_CONFIG_HOME: '', HOME: '/ann' }), '/ann/.config/fulcrum/contexts.json')
  test.equal(pathOf({ XDG_CONFIG_HOME: '/cfg', HOME: '/ann' }), '/cfg/fulcrum/contexts.json')
  const own = join(userInfo().homedir, '.config', 'fulcrum', 'contexts.json')
  test.same([pathOf({}), pathOf({ HOME: '' })], [own, own])
  test.end()
})
