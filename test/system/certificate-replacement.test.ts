import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import t from 'tap'
import { executePlan } from '../../workers/executor.ts'
import { certificateMaker } from '../fixtures/certificate-maker.ts'
import { backend, realServer } from '../fixtures/config.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { untilHolds } from '../fixtures/until.ts'
import { echoOrigin } from './haproxy-traffic.ts'
import { client, listening, subjectOf } from './tls-frontend.ts'

const { pair, record } = certificateMaker(t)
const first = record('first', pair({ name: 'first.test' }))
const chained = record('chained', pair({ name: 'chained.test' }))
const rsa = record('rsa', pair({ name: 'rsa.test', key: 'rsa:2048' }))

t.test('a certificate is replaced while in use: no reload, no failed handshake, connections stay', async (test) => {
  const realServers = [realServer('r', { port: await echoOrigin(test, 'one') })]
  const l7Backends = [backend('b', ['r'], { mode: 'tcp' })]
  const { port, apply, view, ask, paths, host } = await listening(
    test,
    [first, chained],
    { mode: 'tcp', defaultBackendId: 'b' },
    { realServers, l7Backends },
  )
  const handshake = async (): Promise<TLSSocket> => {
    const socket = connect({ host: '127.0.0.1', port, servername: 'first.test', rejectUnauthorized: false })
    socket.on('error', () => undefined)
    await Promise.race([
      once(socket, 'secureConnect'),
      once(socket, 'close').then(() => Promise.reject(new Error('no handshake'))),
    ])
    return socket
  }
  const long = await handshake()
  test.teardown(() => long.destroy())
  const echo = async (text: string) => {
    long.write(text)
    return String((await once(long, 'data'))[0])
  }
  test.equal(await echo('a'), 'one a')
  const pid = /^Pid: (\d+)$/m.exec(await ask('@1 show info'))?.[1]
  const seen = new Set<string>()
  const failures: unknown[] = []
  let [asked, isOver] = [0, false]
  const ask2 = async () => {
    while (!isOver) {
      asked++
      try {
        const socket = await handshake()
        seen.add(socket.getPeerCertificate().fingerprint256)
        socket.destroy()
      } catch (error) {
        failures.push(error)
      }
    }
  }
  const loops = [ask2(), ask2(), ask2()]
  await untilHolds(() => seen.size > 0)
  let running = view([first, chained])
  let last = first
  for (let round = 0; round < 5; round++) {
    last = record('first', pair({ name: 'first.test', key: round % 2 === 0 ? 'rsa:2048' : 'ec:prime256v1' }))
    const desired = view([last, chained])
    test.match(await apply(running, desired), { ok: true })
    running = desired
    const from = asked
    await untilHolds(() => asked >= from + 20)
  }
  isOver = true
  await Promise.all(loops)
  test.same(failures, [], `${asked} handshakes`)
  test.equal(seen.size, 6)
  test.equal(await echo('b'), 'one b', 'the long connection stays open')
  test.equal(/^Pid: (\d+)$/m.exec(await ask('@1 show info'))?.[1], pid)
  test.match(await ask('show proc'), /master +0 \[failed: 0\]/, 'no reload at all')
  test.equal(
    await host.readFile(`${paths.configFile.replace(/[^/]+$/, '')}fulcrum-certs/first.pem`),
    last.chain + last.privateKey,
  )
  test.match(await apply(undefined, running), { ok: true })
  test.match(await ask('show proc'), /master +0 \[failed: 0\]/, 'a start has nothing to do')
})

t.test('the same in a folder with a space', async (test) => {
  const configFile = join(temporaryFolder(test, 'with a space'), 'haproxy.cfg')
  const { port, apply, view, ask } = await listening(test, [first, chained], {}, {}, { configFile })
  const shown = async (name: string) => subjectOf(await client(port, '-servername', name))
  test.same([await shown('chained.test'), await shown('other.test')], ['chained.test', 'first.test'])
  const renewed = record('first', pair({ name: 'renewed.test' }))
  test.match(await apply(view([first, chained]), view([renewed, chained])), { ok: true })
  test.equal(await shown('other.test'), 'renewed.test')
  test.match(await ask('show proc'), /master +0 \[failed: 0\]/, 'without a reload')
})

t.test('a refused change is undone, does not reveal the key, and a reload carries it out', async (test) => {
  const { port, apply, applyLikeTheEngine, view, ask, folder } = await listening(test, [first])
  const file = `${folder}/fulcrum-certs/first.pem`
  // A key of another certificate: the store would refuse it, but it shows HAProxy's answer.
  const broken = { ...rsa, id: 'first', privateKey: first.privateKey }
  const refused = await apply(view([first]), view([broken]))
  test.match(refused, {
    ok: false,
    kind: 'socket',
    undone: true,
    output: /^@1 commit ssl cert \S+: inconsistencies between private key/,
  })
  test.notMatch(JSON.stringify(refused), /PRIVATE|BEGIN/)
  test.equal(subjectOf(await client(port)), 'first.test')
  test.match(
    await ask(`@1 show ssl cert *${file}`),
    /Can't|No such|not found|transaction/i,
    'no transaction is left open',
  )
  const checked = await apply(undefined, view([broken]), 'reload')
  test.match(checked, { ok: false, kind: 'check', undone: true })
  test.notMatch(JSON.stringify(checked), /PRIVATE|BEGIN/)
  // Another client has begun to change it and has not finished.
  await ask(`@1 set ssl cert ${folder}/fulcrum-certs/other.pem`)
  const next = record('first', pair({ name: 'first.test' }))
  test.match(await applyLikeTheEngine(view([first]), view([next])), { ok: true })
  const long = { ...next, chain: next.chain.repeat(40) }
  test.match(await applyLikeTheEngine(view([next]), view([long])), { ok: true }, 'too long for a command')
  test.equal(subjectOf(await client(port)), 'first.test')
})

t.test('files are readable by the owner alone, and are deleted when unused', async (test) => {
  const { apply, view, folder } = await listening(test, [first, chained])
  const certs = `${folder}/fulcrum-certs`
  test.same(readdirSync(certs).toSorted(), ['chained.pem', 'f.list', 'first.pem'])
  for (const name of readdirSync(certs)) test.equal(statSync(`${certs}/${name}`).mode & 0o777, 0o600)
  test.equal(statSync(certs).mode & 0o777, 0o700)
  const both = view([first, chained])
  const one = view([first, chained], { certificates: ['chained'] })
  test.match(await apply(both, one), { ok: true })
  test.same(readdirSync(certs).toSorted(), ['chained.pem', 'f.list'])
  const none = view([first, chained], { enabled: false })
  test.match(await apply(one, none), { ok: true })
  test.same(readdirSync(certs), [])
})

t.test('a kill between any two steps leaves no key behind, and undo presents the old certificate', async (test) => {
  const { port, apply, view, driver, host, folder } = await listening(test, [first])
  const running = view([first])
  const next = record('first', pair({ name: 'next.test' }))
  const targets = [view([next]), view([first, chained], { certificates: ['chained', 'first'] })]
  for (const desired of targets) {
    const steps = driver.plan(running, desired, { atLeast: 'runtime' })
    for (let killedAt = 0; killedAt <= steps.length; killedAt++) {
      const beforeStep = (index: number) => {
        if (index === killedAt) throw new Error('killed')
      }
      await executePlan(host, steps, { beforeStep }).catch(() => undefined)
      // As the apply engine does after a crash.
      test.match(await apply(desired, running, 'reload'), { ok: true })
      test.same(readdirSync(`${folder}/fulcrum-certs`).toSorted(), ['f.list', 'first.pem'])
      test.equal(await host.readFile(`${folder}/fulcrum-certs/first.pem`), first.chain + first.privateKey)
      test.equal(subjectOf(await client(port)), 'first.test', steps[killedAt]?.kind ?? 'the end')
    }
  }
})
