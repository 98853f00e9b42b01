import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ansibleSite, COLLECTION, noAnsible, type Registered, shop } from './ansible-site.ts'
import { conversation, get } from './haproxy-traffic.ts'

/** Plays: real servers that are drained, and the playbooks in the README of the Ansible collection. */

const README = readFileSync(join(COLLECTION, 'README.md'), 'utf8')
/** Returns the first playbook below this heading. */
function playbookOf(heading: string): string {
  const [, text] = new RegExp(`## ${heading}\n[^]*?\`\`\`yaml\n([^]*?)\`\`\``).exec(README) ?? []
  if (text === undefined) throw new Error(`README has no ${heading}`)
  return text
}
/** Returns the endpoints that the README names for a module, for these sections where it distinguishes them. */
function rightsOf(module: string, sections: readonly string[] = []): readonly string[] {
  const row = README.split('\n').findLast((line) => line.startsWith(`| \`${module}\` |`)) ?? ''
  const verbs = row.match(/(?<=`)(?:list|get|create|update|delete)(?=`)/g) ?? []
  const named = row.match(/\w+\.\w+/g) ?? []
  return [...named, ...sections.flatMap((section) => verbs.map((verb) => `${section}.${verb}`))]
}

t.setTimeout(1_800_000)

t.test('plays', { skip: noAnsible }, async (t) => {
  const site = await ansibleSite(t)
  const { daemon, home } = site
  const { document: SHOP, frontend, port, tcpPort, web1, web2 } = await shop(t)
  const applyDocument = async (document: object, terms: object = {}) => {
    const { planId } = await daemon.data('POST', '/config/plan', { document })
    await daemon.data('PUT', `/config/plans/${planId}/apply`, terms)
  }
  await applyDocument({ ...SHOP, owner: 'shop' })
  const idOf = async (name: string) => (await daemon.data('GET', `/ipvsDirector/rips?name=${name}`))[0].id
  const sections = Object.keys(SHOP).filter((name) => name !== 'version')
  /** Arguments to run playbooks with a token that has the rights named in the README. */
  const asOf = async (module: string): Promise<readonly string[]> => {
    const known: readonly Registered[] = await daemon.data('GET', '/rbac/endpoints')
    const names = rightsOf(module, sections)
    const endpoints = known.filter(({ name }) => names.includes(name)).map(({ id }) => id)
    const { token } = await daemon.data('POST', '/localUsers/me/tokens', { name: module, endpoints })
    return ['-e', `fulcrum_token=${token}`]
  }

  await t.test('a real server: drained, waited for, weighted and automatically brought back', async (test) => {
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
      otherValue: { fulcrum_server: { name: 'web1', weight: 100 } },
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
    test.match(results.others, { failed: true, msg: /^name: another change of web1 is pending \(weight, by admin@/ })
    test.match(results.otherValue, {
      failed: true,
      msg: /^name: another change of web1 is pending \(weight, by admin@/,
    })
    test.match(results.staged, { changed: true }, 'staged changes that are exactly these go live')
    test.match(results.unknown, { failed: true, msg: /there is no real server web9/ })
    test.match(results.heavy, { failed: true, errors: [{ field: 'weight' }] })
    test.match(results.forever, { failed: true, errors: [{ field: 'wait' }] })
    test.match(results.aimless, { failed: true, msg: /needs state drained or halted/ })
    const { changes } = await daemon.data('GET', '/services/pending')
    test.match(changes, [{ resourceId: stagedOther, after: { weight: 3 } }], 'changes staged by others stay pending')
    test.equal(changes.length, 1)
    test.match(await daemon.data('GET', '/ipvsDirector/rips?name=raw1'), [{ state: 'online', weight: 5 }])
    await daemon.call('DELETE', '/services/pending')
  })

  await t.test('a rerun: the wait of an interrupted run completes', async (test) => {
    const open = await conversation(test, tcpPort)
    test.equal(await open.say('hello'), 'raw hello')
    const raw1 = await idOf('raw1')
    const drained = { fulcrum_server: { name: 'raw1', state: 'drained', wait: '1s', busy_timeout: 20 } }
    await daemon.call('PUT', `/ipvsDirector/rips/${raw1}/drain?wait=8s`)
    await daemon.data('PUT', '/services/apply', {})
    test.match(await site.tasks({ drained }), { drained: { failed: true, msg: /^After 1 s 1 connection is left/ } })
    await daemon.call('PUT', `/ipvsDirector/rips/${raw1}/online`)
    await daemon.data('PUT', '/services/apply', {})
    await daemon.call('PUT', `/ipvsDirector/rips/${raw1}/drain?wait=1s`)
    const results: Registered = await site.tasks({ drained })
    test.match(results.drained.msg, /^After 1 s 1 connection is left/, 'that run waited for an apply')
    await daemon.call('PUT', `/ipvsDirector/rips/${raw1}/online`)
    await daemon.data('PUT', '/services/apply', {})
  })

  await t.test('the playbooks of its README, word for word, with the rights that it names', async (test) => {
    const yaml = (document: object) => site.file('lb.yaml', JSON.stringify(document))
    const configuration = site.file('configuration.yml', playbookOf('Configuration from a repository'))
    const revision = async () => (await daemon.data('GET', '/services/apply')).revision
    const before = await revision()
    const rights = await asOf('fulcrum_config')
    const apply = (path: string) =>
      site.playbook(configuration, 'localhost,', '-e', `site_url=http://127.0.0.1:${port}${path}`, ...rights)
    yaml({ ...SHOP, l7Frontends: { ...SHOP.l7Frontends, shop: { ...frontend, hsts: false, enabled: false } } })
    test.match(await apply('/'), { exitCode: 2, stdout: /Revert it\][^]*changed=2/ }, 'the site did not answer')
    test.equal(await revision(), before + 2, 'so it was taken back')
    test.equal((await get(port)).status, 200)
    await daemon.call('DELETE', '/services/pending')
    yaml({ ...SHOP, realServers: { ...SHOP.realServers, web1: { ...SHOP.realServers.web1, weight: 10 } } })
    test.match(await apply('/'), { exitCode: 0, stdout: /changed=2/ })
    test.match(await apply('/'), { exitCode: 0, stdout: /changed=0/ })
    test.match(await daemon.data('GET', '/services/apply'), { state: 'idle' })
    const { document } = await site.tasks({ document: { fulcrum_info: {} } }, ...(await asOf('fulcrum_info')))
    test.match(Object.keys(document.data).toSorted(), ['version', ...sections].toSorted())

    const others = { version: 1, realServers: { others: { ip: '127.0.0.1', port: web1 } } }
    await applyDocument(others, { confirmWithin: 600 })
    test.match(await apply('/'), { exitCode: 0, stdout: /changed=0/ })
    yaml({ ...SHOP, realServers: { ...SHOP.realServers, web1: { ...SHOP.realServers.web1, weight: 20 } } })
    test.match(await apply('/'), { exitCode: 2, stdout: /changed=0/ })
    test.match(await daemon.data('GET', '/services/apply'), { state: 'waiting' }, 'neither confirmed nor reverted')
    await daemon.call('PUT', '/services/apply/confirm')

    const rolling = site.file('rolling.yml', playbookOf('Rolling update of real servers behind Fulcrum'))
    const seen = join(home, 'seen')
    const line = `echo {{ inventory_hostname }} $(curl -s http://127.0.0.1:${port}/) >> ${seen}`
    site.file('update.yml', JSON.stringify([{ name: 'Update', 'ansible.builtin.shell': line }]))
    const inventory = site.file('inventory.ini', '[web]\nweb1\nweb2\n')
    test.match(await site.playbook(rolling, inventory, ...(await asOf('fulcrum_server'))), { exitCode: 0 })
    test.equal(readFileSync(seen, 'utf8'), 'web1 two\nweb2 one\n', 'each server was updated while the other served')
    test.match(await daemon.data('GET', '/ipvsDirector/rips?q=web'), [{ state: 'online' }, { state: 'online' }])
  })
})
