import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, get } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { freePort } from '../fixtures/traffic.ts'

/** Databases that report their leader at another port: a haproxy.cfg, and its import into Fulcrum. */

const NODES = ['127.0.0.1', '127.0.0.2', '127.0.0.3'] as const

async function databases(test: Test) {
  const [serving, health] = [await freePort(), await freePort()]
  const state = { leader: '127.0.0.1' }
  const at = async (host: string, port: number, status: () => number) => {
    const server = createServer((_, answer) => answer.writeHead(status()).end(host)).listen(port, host)
    await once(server, 'listening')
    test.teardown(() => server.close().closeAllConnections())
  }
  for (const host of NODES) {
    await at(host, serving, () => 200)
    await at(host, health, () => (state.leader === host ? 200 : 503))
  }
  const cfg = (port: number) => `
defaults
    mode tcp
    timeout connect 2s
    timeout client 5s
    timeout server 5s
listen writes
    bind 127.0.0.1:${port}
    option httpchk GET /leader
    http-check expect status 200
    default-server inter 1s fall 1 rise 1
    server db1 127.0.0.1:${serving} check port ${health}
    server db2 127.0.0.2:${serving} check port ${health}
`
  return { state, cfg, serving }
}

/** Returns the server that answers; undefined where none does. */
const asked = (port: number) =>
  new Promise<string | undefined>((resolve) => {
    get({ host: '127.0.0.1', port, agent: false }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (part) => (text += String(part)))
      answer.on('end', () => resolve(text))
    }).on('error', () => resolve(undefined))
  })

/** Resolves when only the leader is asked, several times in a row. */
async function follows(port: number, leader: string): Promise<void> {
  let row = 0
  await until(
    `only ${leader} to be asked`,
    async () => (row = (await asked(port)) === leader ? row + 1 : 0),
    (now) => now === 10,
  )
}

t.test('the leader gets the writes, as with the file, also after another one joins', async (test) => {
  const { state, cfg, serving } = await databases(test)
  const [theirs, ours] = [await freePort(), await freePort()]
  const file = join(temporaryFolder(test, 'checks'), 'haproxy.cfg')
  writeFileSync(file, cfg(theirs))
  const original = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
  test.teardown(() => original.kill('SIGKILL'))

  const daemon = await daemonFixture(test)
  const { document, notUnderstood } = await daemon.data('POST', '/config/import', { haproxyCfg: cfg(ours) })
  test.same(notUnderstood, [])
  const { planId } = await daemon.data('POST', '/config/plan', { document })
  await daemon.data('PUT', `/config/plans/${planId}/apply`)
  for (const leader of ['127.0.0.1', '127.0.0.2']) {
    state.leader = leader
    await follows(theirs, leader)
    await follows(ours, leader)
  }

  const [backend] = await daemon.data('GET', '/layer7proxy/backends')
  const { id } = await daemon.data('POST', '/ipvsDirector/rips', { name: 'db3', ip: '127.0.0.3', port: serving })
  await daemon.data('PUT', `/layer7proxy/backends/${backend.id}`, { reals: [...backend.reals, { ripId: id }] })
  const { changes } = await daemon.data('GET', '/services/pending')
  test.same(new Set(changes.map(({ effect }: { effect: string }) => effect)), new Set(['reload']))
  await daemon.data('PUT', '/services/apply')
  // A newcomer is asked at that port as well.
  await follows(ours, '127.0.0.2')
  state.leader = '127.0.0.3'
  await follows(ours, '127.0.0.3')
})
