import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { COLLECTION, noAnsible, type Registered, runningShop } from './ansible-site.ts'
import { get } from './haproxy-traffic.ts'

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

t.test('the playbooks of the README of the collection, word for word', { skip: noAnsible }, async (test) => {
  const { site, document: SHOP, frontend, port, web1, applyDocument } = await runningShop(test)
  const { daemon, home } = site
  const sections = Object.keys(SHOP).filter((name) => name !== 'version')
  /** Arguments to run playbooks with a token that has the rights named in the README. */
  const asOf = async (module: string): Promise<readonly string[]> => {
    const known: readonly Registered[] = await daemon.data('GET', '/rbac/endpoints')
    const names = rightsOf(module, sections)
    const endpoints = known.filter(({ name }) => names.includes(name)).map(({ id }) => id)
    const { token } = await daemon.data('POST', '/localUsers/me/tokens', { name: module, endpoints })
    return ['-e', `fulcrum_token=${token}`]
  }

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
