import { X509Certificate } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import t from 'tap'
import { parse } from 'yaml'
import { certificateRecord } from '../fixtures/certificate.ts'
import { freePort } from '../fixtures/traffic.ts'
import { ansibleSite, COLLECTION, noAnsible, type Registered, shop } from './ansible-site.ts'
import { get } from './haproxy-traffic.ts'

/** The Ansible collection, with Debian's ansible-core against a daemon and its HAProxy. */

const MODULES = ['fulcrum_config', 'fulcrum_info', 'fulcrum_server'] as const
/** Returns the certificate that the API presents. */
async function shownPem(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { raw } = socket.getPeerCertificate()
  socket.destroy()
  return new X509Certificate(raw).toString()
}

t.setTimeout(1_800_000)

t.test('the collection', { skip: noAnsible }, async (t) => {
  const site = await ansibleSite(t)
  const { daemon, home } = site
  const { document: SHOP, port, web1, web2, privateKey } = await shop(t)
  const at = { ip: '127.0.0.1' }
  const owned = { ...SHOP, owner: 'shop' }
  const withServer = (name: string, more: object) => ({
    ...owned,
    realServers: { ...SHOP.realServers, [name]: { ...at, port: web1, ...more } },
  })

  await t.test('is built and documented as Ansible requires', async (test) => {
    const told = await site.run(
      'ansible-doc',
      '-t',
      'module',
      '-j',
      ...MODULES.map((name) => `fulcrum.fulcrum.${name}`),
    )
    const documented = JSON.parse(told.stdout)
    const plain = await site.run('ansible-doc', '-t', 'module', ...MODULES.map((name) => `fulcrum.fulcrum.${name}`))
    test.match(plain, { exitCode: 0, stderr: '' })
    const results = await site.tasks({
      fulcrum_config: { fulcrum_config: { nonsense: 1, document: {} } },
      fulcrum_info: { fulcrum_info: { nonsense: 1 } },
      fulcrum_server: { fulcrum_server: { nonsense: 1, name: 'x', weight: 1 } },
    })
    for (const name of MODULES) {
      test.match(
        plain.stdout,
        new RegExp(`> FULCRUM\\.FULCRUM\\.${name.toUpperCase()} [^]*EXAMPLES:[^]*RETURN VALUES:`),
      )
      const { doc, examples, return: answers } = documented[`fulcrum.fulcrum.${name}`]
      test.ok(parse(examples).length > 0 && Object.keys(answers).length > 0)
      const [, listed = ''] = /Supported parameters include: ([^.]*)\./.exec(results[name].msg) ?? []
      test.same(listed.split(', ').toSorted(), Object.keys(doc.options).toSorted(), `${name} documents its options`)
    }
    const version = (text: string) => /version\W+([\d.]+)/.exec(text)?.[1]
    const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
    test.equal(version(readFileSync(join(COLLECTION, 'galaxy.yml'), 'utf8')), version(manifest))
    test.notOk(existsSync(join(home, 'ansible_collections/fulcrum/fulcrum/galaxy.yml')), 'it came from the tarball')
  })

  await t.test('does not talk to other hosts, and retries when the daemon is busy', async (test) => {
    const stranger = await certificateRecord(test, 'stranger')
    const asked: string[] = []
    const server = createServer({ key: stranger.privateKey, cert: stranger.chain }, ({ method, url }, answer) => {
      asked.push(`${method} ${url}`)
      const wait_s = url?.endsWith('/long') === true ? 900 : 1
      if (url?.endsWith('/lost') === true) answer.destroy()
      else if (url?.endsWith('/page') === true) answer.writeHead(502).end('<h1>Bad gateway</h1>')
      else if (url?.endsWith('/busy') === true && asked.length > 2) answer.end('{"data":"done"}')
      else if (url?.includes('/rips?') === true) answer.end('{"data":[{"id":"a"},{"id":"b"}]}')
      else if (url?.endsWith('/unknown') === true)
        answer.writeHead(503, { 'Retry-After': 1 }).end('{"code":"NO_QUORUM","message":"It may have been done"}')
      else answer.writeHead(429, { 'Retry-After': wait_s }).end('{"code":"TOO_MANY_AT_ONCE","message":"Too many"}')
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    test.teardown(() => server.close())
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    const there = { url, fingerprint: stranger.facts.fingerprint }
    const read = (path: string) => ({ fulcrum_info: { path, ...there } })
    const results: Registered = await site.tasks({
      other: { fulcrum_info: { url } },
      busy: read('/busy'),
      long: read('/long'),
      page: read('/page'),
      lost: read('/lost'),
      unknown: read('/unknown'),
      several: { fulcrum_server: { name: 'web1', state: 'halted', ...there } },
    })
    test.match(results.other.msg, /does not match fingerprint, so nothing was sent/)
    test.match(results.busy, { changed: false, data: 'done' })
    test.match(results.long, { failed: true, status: 429, code: 'TOO_MANY_AT_ONCE' })
    test.match(results.page.msg, /answers 502 and is not Fulcrum$/)
    test.match(results.lost.msg, /did not answer GET \/lost/)
    test.match(results.unknown, { failed: true, code: 'NO_QUORUM' })
    test.match(
      results.several.msg,
      /^name: several real servers are named web1 \(a, b\): .* PUT \/ipvsDirector\/rips\/ID$/,
    )
    const paths = ['busy', 'busy', 'busy', 'long', 'page', 'lost', 'unknown', 'ipvsDirector/rips?name=web1']
    const seen = paths.map((path) => `GET /api/v1/${path}`)
    test.same(asked, seen, 'the first host was not contacted')
  })

  await t.test('a document: planned, applied once, refused for its content', async (test) => {
    const before = await daemon.data('GET', '/config/document')
    const ca_file = site.file('ca.pem', await shownPem(daemon.port))
    const file = site.file('shop.json', JSON.stringify(owned))
    const document = owned
    const other = { version: 1, owner: 'other', realServers: { web1: { ...at, port: web1, weight: 7 } } }
    const halted = { ...SHOP.realServers, web1: { ...SHOP.realServers.web1, state: 'halted' } }
    const noServer = { ...owned, realServers: { ...halted, web2: { ...SHOP.realServers.web2, state: 'halted' } } }
    const more = withServer('web3', { weight: 50 })
    const tried = withServer('web2', { port: web2, weight: 60 })
    const waiting = { revision: '{{ waiting.revision }}' }
    const wrong = { ...withServer('web1', { port: 99_999 }), l7Backends: { shop: { mode: 'ftp', reals: [] } } }
    const results: Registered = await site.tasks(
      {
        checked: { fulcrum_config: { document: SHOP, owner: 'shop' }, check_mode: true, diff: true },
        untouched: { fulcrum_info: {} },
        applied: { fulcrum_config: { document: SHOP, owner: 'shop', comment: 'the shop' } },
        again: { fulcrum_config: { document }, diff: true },
        ofFile: { fulcrum_config: { file } },
        byAuthority: { fulcrum_info: { path: '/ping', fingerprint: '', ca_file } },
        more: { fulcrum_config: { document: more, confirm_within: 60 } },
        less: { fulcrum_config: { document } },
        pruned: { fulcrum_config: { document, prune: true, refuse_warnings: true }, diff: true },
        waiting: { fulcrum_config: { document: tried, confirm_within: 600, confirm: false } },
        waitingStill: { fulcrum_config: { document: tried } },
        meanwhile: { fulcrum_server: { name: 'raw1', state: 'drained', busy_timeout: 0 } },
        pending: { fulcrum_info: { path: '/services/pending', query: { render: true } } },
        otherReverted: { fulcrum_config: { state: 'reverted', revision: 1 } },
        otherRevision: { fulcrum_config: { state: 'confirmed', revision: 1 } },
        wouldConfirm: { fulcrum_config: { state: 'confirmed', ...waiting }, check_mode: true },
        confirmed: { fulcrum_config: { state: 'confirmed', ...waiting } },
        confirmedAgain: { fulcrum_config: { state: 'confirmed', ...waiting } },
        foreign: { fulcrum_config: { document: other } },
        takenOver: { fulcrum_config: { document: other, take_over: true }, check_mode: true },
        warned: { fulcrum_config: { document: noServer, refuse_warnings: true } },
        warnedOf: { fulcrum_config: { document: noServer }, check_mode: true },
        wrong: { fulcrum_config: { document: wrong } },
        token: { fulcrum_config: { document, token: 'no-token' } },
        fingerprint: { fulcrum_config: { document, fingerprint: 'AB'.repeat(32) } },
        untrusted: { fulcrum_info: { fingerprint: '' } },
        nobody: { fulcrum_info: { url: `https://127.0.0.1:${await freePort()}` } },
        nothing: { fulcrum_config: { comment: 'x' } },
        yaml: { fulcrum_config: { file: site.file('lb.yaml', 'version: 1\n') } },
      },
      '-vvv',
    )
    test.match(results.checked, { changed: true, changes: [{ op: 'create' }] })
    const shown = results.checked.diff
    const web1Shown = shown.find(({ after_header: title }: Registered) => title === 'realServers web1')
    test.match(web1Shown, { before: '', after: { ip: '127.0.0.1', port: web1 } })
    test.match(shown.at(-1).prepared, new RegExp(`\\+.*127\\.0\\.0\\.1:${port}`), 'the file of HAProxy')
    test.same(results.untouched.data, before, 'check mode changes nothing')
    test.match(results.applied, { changed: true, revision: Number, msg: /applied/i })
    test.notOk('diff' in results.applied)
    test.equal(results.applied.digest, results.checked.digest)
    test.match(results.again, { changed: false, changes: [], diff: [], revision: results.applied.revision })
    test.match(results.ofFile, { changed: false })
    test.match(results.byAuthority, { failed: false })
    test.match(results.more, { changed: true, changes: [{ op: 'create', name: 'web3' }] })
    test.match(results.less, { changed: false }, 'nothing is deleted without prune')
    test.match(results.pruned, { changed: true, diff: [{ before: { name: 'web3', weight: 50 }, after: '' }] })
    test.match(results.waiting, { changed: true, confirm_by: /^\d{4}-/ })
    const taken = /^The running revision \d+ by admin@localhost is reverted at \d{4}-.* unless it is confirmed$/
    test.match(results.waitingStill, { changed: false, warnings: [taken] }, 'it is not kept')
    test.match(results.meanwhile, { failed: true, code: 'APPLY_IN_PROGRESS' })
    test.match(results.pending.data, { count: 0, files: [] }, 'changes that could not be applied are reverted')
    test.match(results.otherReverted, { changed: false, revision: results.waiting.revision })
    test.match(results.otherRevision.msg, /^revision: \d+ is running instead of 1, /)
    test.match([results.wouldConfirm, results.confirmed], [{ changed: true }, { changed: true }])
    test.match(results.confirmedAgain, { changed: false, revision: results.waiting.revision })
    test.match(results.foreign, { failed: true, status: 422, errors: [{ field: 'document.realServers.web1' }] })
    test.match(results.foreign.msg, /web1/)
    test.match(results.takenOver, { changed: true })
    test.match(results.warned, { failed: true, code: 'WARNINGS', data: { warnings: [{ code: 'NO_SERVER_LEFT' }] } })
    test.match(results.warnedOf, { changed: true, warnings: [/NO_SERVER_LEFT/] })
    test.match(results.wrong, { failed: true, status: 422, code: 'INVALID_BODY' })
    test.match(results.wrong.msg, /document\.realServers\.web1\.port: [^]*document\.l7Backends\.shop\.mode: /)
    test.match(results.token, { failed: true, status: 401, code: 'UNAUTHENTICATED' })
    test.match(results.fingerprint.msg, /does not match fingerprint, so nothing was sent/)
    test.match(results.untrusted.msg, /not trusted .*: set fingerprint or ca_file$/)
    test.match(results.nobody.msg, /cannot be reached/)
    test.match(results.nothing.msg, /any of the following are missing: document, file/)
    test.match(results.yaml.msg, /is not JSON.*from_yaml/)
    test.equal((await get(port)).status, 200, 'HAProxy serves it')
    const revisions: readonly Registered[] = await daemon.data('GET', '/revisions?limit=4')
    test.equal(revisions[0].revision, results.waiting.revision, 'refused and planned changes changed nothing')
    test.match(revisions[3], { revision: results.applied.revision, comment: 'the shop' })
    const key = privateKey.split('\n')[1] ?? ''
    for (const secret of [site.variables['fulcrum_token'] ?? '', key])
      test.notOk(`${results.said}${site.log}`.includes(secret), 'secrets are in no output and no log')
    test.match(results.said, /VALUE_SPECIFIED_IN_NO_LOG_PARAMETER/)
  })
})
