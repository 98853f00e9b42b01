import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { CHECK_FOLDER, checkStatements, isProgram } from '../../../../src/drivers/keepalived/checks.ts'
import type { HealthCheckSetting } from '../../../../src/model/health-check.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'
import { keepalivedCheck, lacks } from '../../../fixtures/programs-apart.ts'

const SETTINGS: Readonly<Record<string, HealthCheckSetting>> = {
  tcp: { type: 'tcp', interval: 5, fall: 2 },
  http: { type: 'http', path: '/health?a=1&b=2', expect: '200-299,304', host: 'www.example.org:8080' },
  https: { type: 'https', host: 'www.example.org' },
  'https by address': { type: 'https', host: '[2001:db8::1]:8443' },
  'http by script': { type: 'script', id: 'http', parameters: { path: '/x' } },
  'http with a text': { type: 'script', id: 'http', parameters: { text: 'fine' } },
  'http with a path that keepalived would read': { type: 'http', path: '/a$_PWD{x}"\\~' },
  smtp: { type: 'script', id: 'smtp', parameters: { domain: 'lb.example.org' } },
  ping: { type: 'script', id: 'ping' },
  dns: { type: 'script', id: 'dns', parameters: { name: 'example.org', type: 'MX' } },
  'dns with an answer': { type: 'script', id: 'dns', parameters: { name: 'example.org', answer: '192.0.2.1' } },
  udp: { type: 'script', id: 'udp', parameters: { payload: '00ff01' } },
  'udp that ends as an error of keepalived does': { type: 'script', id: 'udp', parameters: { payload: '00ff' } },
  'dns with a first label of one': { type: 'script', id: 'dns', parameters: { name: 'm.example.org' } },
  'dns with a name of one': { type: 'script', id: 'dns', parameters: { name: 'm' } },
  'http by script with statuses that are none': { type: 'script', id: 'http', parameters: { expect: '999' } },
  'http with the longest path of its own': { type: 'http', path: `/${'a'.repeat(399)}` },
  'http with a longer one': { type: 'http', path: `/${'a'.repeat(1000)}` },
  'udp with a reply': { type: 'script', id: 'udp', parameters: { payload: 'ff00', reply: 'ABcd01' } },
  'udp that is none': { type: 'script', id: 'udp', parameters: { payload: '00 }' } },
  ldap: { type: 'script', id: 'ldap' },
  own: { type: 'script', id: 'own', parameters: { a: "' } real_server" }, fall: 1 },
}

const frontend = { ip: '2001:db8::10', ports: '80,443' }
const statements = (setting: HealthCheckSetting) =>
  checkStatements({ id: 'b-1', healthCheck: setting }, { ip: '192.0.2.2', checkPort: 8080 }, frontend)

t.test("golden: each check in keepalived's syntax", async (test) => {
  const text = Object.entries(SETTINGS).map(([name, setting]) => `# ${name}\n${statements(setting).join('\n')}\n`)
  const golden = new URL('../../../golden/keepalived/checks.conf', import.meta.url)
  test.equal(text.join('\n'), readFileSync(golden, 'utf8'))
})

t.test('no typed text becomes syntax', async (test) => {
  for (const setting of Object.values(SETTINGS)) {
    for (const line of statements(setting)) {
      test.match(line, /^ {0,8}([A-Z_]+ \{|url \{|\}|[a-z_]+( [\w./:@=+,~?&%*;()[\]-]+)*|misc_path "[\w./: -]+")$/)
    }
  }
})

t.test('no line is longer than keepalived reads at once', async (test) => {
  const long = `/${'a'.repeat(1023)}`
  for (const setting of [
    { type: 'http', path: long },
    { type: 'https', path: long },
    { type: 'script', id: 'http', parameters: { path: long } },
    { type: 'script', id: 'http', parameters: { expect: '200,'.repeat(255) + '200' } },
    { type: 'script', id: 'udp', parameters: { payload: '00', reply: '01'.repeat(512) } },
  ] as const) {
    for (const line of statements(setting)) test.ok(line.length < 500, line.slice(0, 20))
    test.ok(isProgram(setting))
  }
})

t.test('without a check there is nothing', async (test) => {
  test.strictSame(statements({ type: 'none' }), [])
  test.equal(isProgram({ type: 'none' }), false)
  test.equal(isProgram({ type: 'script', id: 'radius' }), true)
})

t.test('keepalived accepts them', { skip: lacks('keepalived') }, async (test) => {
  const folder = temporaryFolder(test, 'keepalived')
  mkdirSync(join(folder, 'checks'))
  writeFileSync(join(folder, 'checks', 'backend-b-1'), '#!/bin/sh\n', { mode: 0o755 })
  for (const [name, setting] of Object.entries(SETTINGS)) {
    const lines = statements(setting).map((line) => line.replaceAll(CHECK_FOLDER, join(folder, 'checks')))
    const text = ['global_defs {', 'enable_script_security', 'script_user daemon', '}', 'virtual_server fwmark 5 {']
    text.push('ip_family inet', 'lvs_sched rr', 'lvs_method NAT', 'real_server 192.0.2.2 8080 {', ...lines, '}', '}')
    writeFileSync(join(folder, 'conf'), `${text.join('\n')}\n`)
    const said = keepalivedCheck(join(folder, 'conf'))
    test.strictSame([name, said.lines], [name, []], `exit status ${said.status}`)
  }
})
