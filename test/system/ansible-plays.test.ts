import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ansibleSite, COLLECTION, noAnsible, type Registered, shop } from './ansible-site.ts'
import { conversation, get } from './haproxy-traffic.ts'

/** What is done by plays: real servers that are drained, and the playbooks of the README of the Ansible collection. */

const README = readFileSync(join(COLLECTION, 'README.md'), 'utf8')
/** The first playbook below this heading. */
function playbookOf(heading: string): string {
  const [, text] = new RegExp(`## ${heading}\n[^]*?\`\`\`yaml\n([^]*?)\`\`\``).exec(README) ?? []
  if (text === undefined) throw new Error(`README has no ${heading}`)
  return text
}

t.setTimeout(600_000)

t.test('plays', { skip: noAnsible }, async (t) => {
  const site = await ansibleSite(t)
  const { daemon, home } = site
  const { document: SHOP, frontend, port, tcpPort, web1, web2 } = await shop(t)
  const { planId } = await daemon.data('POST', '/config/plan', { document: { ...SHOP, owner: 'shop' } })
  await daemon.data('PUT', `/config/plans/${planId}/apply`, {})

  await t.test('a real server: drained, waited for, weighed and brought back by itself', async (test) => {
    const idOf = async (name: string) => (await daemon.data('GET', `/ipvsDirector/rips?name=${name}`))[0].id
    const [stagedOther, weighed] = [await idOf('web1'), await idOf('web2')]
    await daemon.data('PUT', `/ipvsDirector/rips/${stagedOther}`, { port: web1, weight: 3 })
    await daemon.data('PUT', `/ipvsDirector/rips/${weighed}`, { port: web2, weight: 9 })
    const open = await conversation(test, tcpPort)
    test.equal(await open.say('hello'), 'raw hello')
    const server = (more: object) => ({ fulcrum_server: { name: 'raw1', ...more } })
    const results: Registered = await site.tasks({
      checked: { ...server({ state: 'drained', weight: 5 }), check_mode: true, diff: true },
      unchanged: { fulcrum_info: { path: '/ipvsDirector/rips', query: { name: 'raw1' } } },
      tooShort: server({ state: 'drained', wait: '1s' }),
      drained: { ...server({ state: 'drained', weight: 5, comment: 'away' }), diff: true },
      again: server({ state: 'drained', weight: 5 }),
      out: server({ state: 'halted', wait: '1s' }),
      back: server({ state: 'online' }),
      others: { fulcrum_server: { name: 'web1', state: 'halted' } },
      staged: { fulcrum_server: { name: 'web2', weight: 9 } },
      unknown: { fulcrum_server: { name: 'web9', state: 'online' } },
      heavy: server({ weight: 300 }),
      forever: server({ state: 'drained', wait: 'soon' }),
      aimless: server({ state: 'online', wait: '1s' }),
    })
    test.match(results.checked, { changed: true, diff: { before: { state: 'online', weight: 100 } } })
    test.match(results.unchanged.data, [{ state: 'online', weight: 100 }])
    test.match(results.tooShort, { failed: true, msg: /^After 1 s 1 connection is left; .* stays drained$/ })
    test.match(results.drained, { changed: true, diff: { before: { weight: 100 }, after: { weight: 5 } } })
    test.match(results.again, { changed: false })
    test.match(results.out, { changed: true, connections: 1 })
    test.match(results.back, { changed: true, id: await idOf('raw1') })
    test.match(results.others, { failed: true, msg: /^name: of web1 something else is pending \(weight, by admin@/ })
    test.match(results.staged, { changed: true }, 'what was staged, and is just this, goes live')
    test.match(results.unknown, { failed: true, msg: /there is no real server web9/ })
    test.match(results.heavy, { failed: true, errors: [{ field: 'weight' }] })
    test.match(results.forever, { failed: true, errors: [{ field: 'wait' }] })
    test.match(results.aimless, { failed: true, msg: /goes with state drained or halted/ })
    const { changes } = await daemon.data('GET', '/services/pending')
    test.match(changes, [{ resourceId: stagedOther, after: { weight: 3 } }], 'what others staged stays pending')
    test.equal(changes.length, 1)
    test.match(await daemon.data('GET', '/ipvsDirector/rips?name=raw1'), [{ state: 'online', weight: 5 }])
    await daemon.call('DELETE', '/services/pending')
  })

  await t.test('the playbooks of its README, word for word', async (test) => {
    const yaml = (document: object) => site.file('lb.yaml', JSON.stringify(document))
    const configuration = site.file('configuration.yml', playbookOf('Configuration from a repository'))
    const revision = async () => (await daemon.data('GET', '/services/apply')).revision
    const before = await revision()
    const apply = (path: string) =>
      site.playbook(configuration, 'localhost,', '-e', `site_url=http://127.0.0.1:${port}${path}`)
    yaml({ ...SHOP, l7Frontends: { ...SHOP.l7Frontends, shop: { ...frontend, hsts: false, enabled: false } } })
    test.match(await apply('/'), { exitCode: 2, stdout: /Take it back\][^]*changed=2/ }, 'the site did not answer')
    test.equal(await revision(), before + 2, 'so it was taken back')
    test.equal((await get(port)).status, 200)
    await daemon.call('DELETE', '/services/pending')
    yaml({ ...SHOP, realServers: { ...SHOP.realServers, web1: { ...SHOP.realServers.web1, weight: 10 } } })
    test.match(await apply('/'), { exitCode: 0, stdout: /changed=2/ })
    test.match(await apply('/'), { exitCode: 0, stdout: /changed=0/ })
    test.match(await daemon.data('GET', '/services/apply'), { state: 'idle' })

    const rolling = site.file('rolling.yml', playbookOf('Rolling update of real servers behind Fulcrum'))
    const seen = join(home, 'seen')
    const line = `echo {{ inventory_hostname }} $(curl -s http://127.0.0.1:${port}/) >> ${seen}`
    site.file('update.yml', JSON.stringify([{ name: 'Update', 'ansible.builtin.shell': line }]))
    const inventory = site.file('inventory.ini', '[web]\nweb1\nweb2\n')
    const [, named = ''] = /`fulcrum_server` takes ([^]*?), and for weights/.exec(README) ?? []
    const names: readonly string[] = named.match(/\w+\.\w+/g) ?? []
    const known: readonly Registered[] = await daemon.data('GET', '/rbac/endpoints')
    const endpoints = known.filter(({ name }) => names.includes(name)).map(({ id }) => id)
    test.equal(endpoints.length, 8)
    const { token } = await daemon.data('POST', '/localUsers/me/tokens', { name: 'operator', endpoints })
    test.match(await site.playbook(rolling, inventory, '-e', `fulcrum_token=${token}`), { exitCode: 0 })
    test.equal(readFileSync(seen, 'utf8'), 'web1 two\nweb2 one\n', 'each was updated while the other one served')
    test.match(await daemon.data('GET', '/ipvsDirector/rips?q=web'), [{ state: 'online' }, { state: 'online' }])
  })
})
