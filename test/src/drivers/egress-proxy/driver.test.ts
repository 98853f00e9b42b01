import t from 'tap'
import { egressProxyDriver, egressProxyPaths } from '../../../../src/drivers/egress-proxy/driver.ts'
import type { SystemProxy } from '../../../../src/model/node.ts'
import { type Records, viewOf } from '../../../fixtures/view.ts'
import { goldenFiles } from '../golden-files.ts'

const paths = egressProxyPaths('/state')
const driver = egressProxyDriver('node', paths)
const SECRET = 'top%secret'

const proxy = (more: Partial<SystemProxy> = {}): SystemProxy => ({
  id: 'node',
  enable: true,
  address: { value: 'proxy.test', port: 3128 },
  username: 'user',
  password: SECRET,
  bypass: ['localhost'],
  ...more,
})
const view = (...systemProxies: readonly SystemProxy[]) => viewOf({ systemProxies })
type View = ReturnType<typeof view>
const steps = (running: View | undefined, desired: View) => driver.plan(running, desired, { atLeast: 'runtime' })
const short = (running: View | undefined, desired: View) =>
  steps(running, desired).map((step) => {
    if (step.kind === 'replaceFile') return `write ${step.path} ${step.mode.toString(8)}`
    return step.kind === 'removeFile' ? `remove ${step.path}` : step.kind
  })
const written = (records: Records) =>
  steps(undefined, viewOf(records)).flatMap((step) => (step.kind === 'replaceFile' ? [step] : []))

const WRITE = [`write ${paths.environment} 600`, `write ${paths.bypassScript} 755`, `write ${paths.apt} 600`]
const REMOVE = [`remove ${paths.apt}`, `remove ${paths.bypassScript}`, `remove ${paths.environment}`]

t.test('goldens', async (test) => goldenFiles(test, 'egress-proxy', driver, written))

t.test('without a record the machine is left as it was found', async (test) => {
  test.same(short(undefined, view()), [])
  test.same(short(view(), view()), [])
  test.same(short(undefined, view(proxy({ id: 'another-node' }))), [])
})

t.test('files with a secret are for root only; the script that apt’s account runs is for every user', async (test) => {
  test.same(short(undefined, view(proxy())), WRITE)
  test.same(short(view(), view(proxy())), WRITE)
  test.same(short(view(proxy()), view(proxy())), [])
  test.same(short(undefined, view(proxy({ password: '' }))), [WRITE[0], WRITE[1], `write ${paths.apt} 644`])
})

t.test('a removed password is gone before the file becomes readable, and undo closes the file', async (test) => {
  test.same(short(view(proxy()), view(proxy({ password: '' }))), [
    `remove ${paths.apt}`,
    WRITE[0],
    WRITE[1],
    `write ${paths.apt} 644`,
  ])
})

t.test('an empty bypass list needs no script, and apt drops it first', async (test) => {
  const expected = [WRITE[0], WRITE[2], `remove ${paths.bypassScript}`]
  test.same(short(view(proxy()), view(proxy({ bypass: [] }))), expected)
})

t.test('switched off, or without its record, nothing is left', async (test) => {
  test.same(short(view(proxy()), view(proxy({ enable: false }))), REMOVE)
  test.same(short(view(proxy()), view()), REMOVE)
  test.same(short(undefined, view(proxy({ enable: false }))), REMOVE, 'whatever a crash has left')
  test.same(short(view(proxy({ enable: false })), view()), [])
})

t.test('a preview masks the password, and no step mentions it', async (test) => {
  const files = driver.render(view(proxy()))
  test.equal(files.length, 3)
  for (const { content } of files) test.notMatch(content, /top|secret/)
  test.match(files.find(({ path }) => path === paths.apt)?.content, 'http://user:**@proxy.test:3128/')
  test.match(driver.render(view(proxy({ password: '' })))[0]?.content, 'http://user@proxy.test:3128/')
  for (const { why } of steps(undefined, view(proxy()))) test.notMatch(why, /top|secret/)
  test.same(driver.render(view()), [])
})

t.test('stored values that cannot be used are problems before anything happens', async (test) => {
  const problems = driver.verify(view(proxy({ address: { value: 'a b', port: 1 }, bypass: ['good.test', '*.test'] })))
  test.match(problems, [{ field: 'bypass.1', message: /wildcard/ }, { field: 'address.value' }])
  test.match(driver.verify(view(proxy({ address: null }))), [
    { section: 'systemProxies', id: 'node', field: 'address' },
  ])
  test.same([driver.verify(view()), [...driver.prepare(view())], driver.diagnose('', view())], [[], [], []])
})

t.test('a change is immediate, and concerns its own node only', async (test) => {
  const change = { section: 'systemProxies', before: undefined, after: undefined } as const
  test.equal(driver.effectOf({ ...change, id: 'node' }, view(), view()), 'runtime')
  test.equal(driver.effectOf({ ...change, id: 'another-node' }, view(), view()), undefined)
})
