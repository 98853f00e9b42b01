import { execFileSync, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { goneMaps, MOVED, NO_MARKS, renderMarks } from '../../../../src/drivers/keepalived/nftables.ts'
import { servedFrontends } from '../../../../src/drivers/keepalived/services.ts'
import { l4Backend, l4Frontend, realServer } from '../../../fixtures/config.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { viewOf } from '../../../fixtures/view.ts'
import { cable, namespace, namespaceObstacle } from '../../../system/network-namespace.ts'

const serve = (...frontends: readonly ReturnType<typeof l4Frontend>[]) =>
  servedFrontends(
    viewOf({
      realServers: [realServer('app', { ip: '10.0.0.1', port: 8080 }), realServer('six', { ip: 'fd00::1', port: 80 })],
      l4Backends: [
        l4Backend('be', ['app']),
        l4Backend('kept', ['app'], { persistTimeout: 60 }),
        l4Backend('be6', ['six'], { persistTimeout: 60 }),
      ],
      l4Frontends: frontends,
    }),
  )
const RANGES = l4Frontend('ranges', 'be', { ports: '80,443,8000-8010' })
const KEPT = l4Frontend('kept', 'kept', { ip: '192.0.2.11' })
const SIX = l4Frontend('six', 'be6', { ip: 'fd00::10', protocol: 'udp' })

t.test('without a marked or translated frontend there is no table', (test) => {
  test.equal(renderMarks(serve(l4Frontend('fe', 'be', { forwarding: 'gate' }))), NO_MARKS)
  test.end()
})

const obstacle = (await namespaceObstacle()) ?? (spawnSync('nft', ['--version']).status === 0 ? undefined : 'needs nft')
t.test('no real server is told to send its replies past the node', { skip: obstacle ?? false }, async (test) => {
  const [node, real, router] = [await namespace(test), await namespace(test), await namespace(test)]
  await node.ip('link add br0 address 02:00:00:00:00:77 type bridge', 'link set br0 up')
  await cable(real, 'eth0', node, 'p1', 1)
  await cable(router, 'eth0', node, 'p2', 2)
  await node.ip('link set p1 master br0', 'link set p2 master br0', 'address add 10.0.0.1/24 dev br0')
  await router.ip('address add 10.0.0.254/24 dev eth0')
  await node.ip('route add 10.20.0.0/24 via 10.0.0.254')
  await real.ip('address add 10.0.0.9/24 dev eth0', 'route add default via 10.0.0.1')
  await node.output('sysctl', '-qw', 'net.ipv4.ip_forward=1')
  const reply = async (client: string) => (await real.run(['ping', '-c2', '-i0.2', '-W1', client], 20_000)).output
  test.match(await reply('10.20.0.2'), /Redirect Host/, 'what a kernel does by itself')
  const file = join(temporaryFolder(test, 'nft'), 'marks.nft')
  writeFileSync(file, renderMarks(serve(l4Frontend('fe', 'be', { forwarding: 'masq' }))))
  await node.output('nft', '--file', file)
  test.notMatch(await reply('10.20.0.3'), /Redirect/)
})

t.test('maps are named after their content, and earlier ones can be deleted', (test) => {
  const [before, after] = [renderMarks(serve(RANGES)), renderMarks(serve(RANGES, KEPT))]
  test.same(goneMaps(before, before), [])
  test.same(goneMaps(before, NO_MARKS), [], 'with the table')
  test.match(goneMaps(before, after), [/^delete map inet fulcrum services4_[\da-f]{12}$/])
  test.end()
})

const canTry = process.getuid?.() === 0 && spawnSync('nft', ['--version']).status === 0
t.test(
  'the kernel accepts the file repeatedly, and keeps moved clients',
  { skip: canTry ? false : 'needs root and nft' },
  (test) => {
    const folder = mkdtempSync(join(tmpdir(), 'fulcrum-nft-'))
    const space = `fulcrum-${randomBytes(4).toString('hex')}`
    execFileSync('ip', ['netns', 'add', space])
    test.teardown(() => {
      execFileSync('ip', ['netns', 'delete', space])
      rmSync(folder, { recursive: true })
    })
    const nft = (...words: readonly string[]) =>
      execFileSync('ip', ['netns', 'exec', space, 'nft', ...words], { encoding: 'utf8' })
    const load = (text: string) => {
      writeFileSync(join(folder, 'marks.nft'), text)
      nft('--check', '--file', join(folder, 'marks.nft'))
      nft('--file', join(folder, 'marks.nft'))
    }
    const [first, second] = [renderMarks(serve(RANGES, KEPT)), renderMarks(serve(RANGES, KEPT, SIX))]
    load(first)
    nft(`add element inet fulcrum ${MOVED[4]} { 198.51.100.7 . 1073741824 : 1073741825 }`)
    load(first)
    load(second)
    nft(goneMaps(first, second).join('; '))
    test.match(nft('list', 'map', 'inet', 'fulcrum', MOVED[4]), /198\.51\.100\.7 \. 0x40000000 : 0x40000001/)
    const rules = nft('list', 'ruleset')
    test.match(rules, /192\.0\.2\.10 \. tcp \. 8000-8010 : 0x[45]/)
    test.match(rules, /192\.0\.2\.11 \. tcp \. 80 : 8080/)
    test.match(rules, /fd00::10 \. udp \. 80 : 0x[45]/)
    test.notMatch(rules, new RegExp(/services6_\w+/.exec(first)?.[0] ?? 'none'))
    load(NO_MARKS)
    test.equal(nft('list', 'ruleset'), '')
    test.end()
  },
)
