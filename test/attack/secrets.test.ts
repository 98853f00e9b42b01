import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { hotp } from '../../src/auth/totp.ts'
import { type Daemon, daemonFixture } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { concrete, endpoints } from './attack-fixture.ts'
import { certificatePair } from './whole-node.ts'

/** Length of an API token: 32 bytes in base64url. */
const SECRET_LENGTH = 43

/** Looks at each process; about a second, in which a forked process has executed its program. */
const LOOKS = 50

/** A text that occurs nowhere else. */
const mark = (what: string) => `${what}-A1!${randomBytes(12).toString('hex')}`

function* filesIn(folder: string): Generator<string> {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* filesIn(path)
    else if (entry.isFile()) yield path
  }
}

/** Returns the content of a file that may be deleted at any time; undefined when it is older, large or gone. */
function writtenSince(path: string, since_ms: number): string | undefined {
  const status = statSync(path, { throwIfNoEntry: false })
  if (status === undefined || status.mtimeMs < since_ms || status.size > 4e6) return undefined
  try {
    return readFileSync(path, 'latin1')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Reads command lines of all processes, and environments of those that the daemon has started, while it runs. */
function watchProcesses(daemon: Daemon) {
  const seen = new Set<string>()
  const looks = new Map<string, number>()
  const look = () => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      // A process has its arguments and environment at the second look at the latest; most processes are older.
      const times = (looks.get(pid) ?? 0) + 1
      looks.set(pid, times)
      if (times > LOOKS) continue
      try {
        seen.add(readFileSync(`/proc/${pid}/cmdline`, 'latin1'))
        const parent = /^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
        if (Number(parent) === daemon.pid) seen.add(readFileSync(`/proc/${pid}/environ`, 'latin1'))
      } catch {
        // It has ended meanwhile.
      }
    }
  }
  const timer = setInterval(look, 20)
  return { seen, end: () => clearInterval(timer) }
}

/** Sends the secrets of alert targets and of certificate orders. */
async function withOutsiders(daemon: Daemon, secret: (name: string) => string): Promise<void> {
  const traps = { type: 'snmp', host: 'nms.test' }
  for (const target of [
    {
      name: 'room',
      type: 'webhook',
      url: `https://chat.test/${secret('hook')}`,
      secret: secret('signature'),
      headers: [{ name: 'X-Key', value: secret('header') }],
    },
    {
      name: 'mail',
      type: 'mail',
      host: 'mail.test',
      from: 'lb@corp.test',
      to: ['duty@corp.test'],
      username: 'lb',
      password: secret('mail'),
    },
    { ...traps, name: 'traps', version: '2c', community: secret('trap-community') },
    {
      ...traps,
      name: 'informs',
      username: 'lb',
      authPassphrase: secret('trap-auth'),
      privacyPassphrase: secret('trap-privacy'),
    },
  ])
    await daemon.data('POST', '/alerts/targets', target)
  const { id: accountId } = await daemon.data('POST', '/certificates/acme/accounts', {
    name: 'ca',
    directoryUrl: 'https://127.0.0.1:9/dir',
    termsAgreed: true,
    externalAccountBinding: { keyId: 'kid', hmacKey: Buffer.from(secret('customer')).toString('base64url') },
  })
  const { id: scriptId } = await daemon.data('POST', '/healthchecks', {
    name: 'records',
    description: '',
    script: '#!/bin/sh\n# @param {"name":"token","type":"secret","required":true}\n',
    services: ['dns-01'],
  })
  await daemon.data('POST', '/certificates/acme/orders', {
    name: 'site',
    accountId,
    names: ['site.test'],
    challenge: 'dns-01',
    dns: { scriptId, parameters: {} },
    secrets: { token: secret('dns-token') },
  })
}

/** Returns the answers to all requests that read, by what was asked; each record of a list is asked for by its id. */
async function answers(test: Test, daemon: Daemon): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {}
  const asked = endpoints.filter(
    ({ method, name, reveals }) => method === 'GET' && !reveals && !name.endsWith('.stream'),
  )
  const ids = new Map<string, readonly string[]>()
  const isMet = new Set<string>()
  // A list comes before its records.
  for (const { path, name } of asked.toSorted((a, b) => a.path.length - b.path.length)) {
    const query = /^l[47](Node)?History/.test(name) ? '?start=1&end=2' : ''
    const listed = ids.get(path.replace('/{id}', '')) ?? []
    for (const id of ['1', 'unknown', ...listed]) {
      const { status, text } = await daemon.call('GET', `${concrete(path, daemon.node, id)}${query}`)
      found[`${name} ${id}`] = text
      ids.set(
        path,
        [...text.matchAll(/"id":"([^"]+)"/g)].map(([, one = '']) => one),
      )
      if (listed.includes(id) && status === 200) isMet.add(name)
    }
  }
  for (const name of ['alertTargets', 'acmeAccounts', 'acmeOrders', 'localUsers', 'healthChecks'])
    test.ok(isMet.has(`${name}.get`), `a record of ${name} was read`)
  return found
}

/** Sends a secret of every kind; returns them by name. */
async function withSecrets(test: Test, daemon: Daemon) {
  const secrets: Record<string, string> = {}
  const secret = (name: string) => (secrets[name] ??= mark(name))
  const { node } = daemon
  const pair = certificatePair(test)
  secrets['private key'] = pair.privateKey.split('\n')[2] ?? ''
  await daemon.data('POST', '/certificates/certs', { name: 'www', ...pair })
  await daemon.call('POST', '/certificates/certs', {
    body: { name: 'pfx', pfx: Buffer.from('no PFX').toString('base64'), password: secret('passphrase') },
  })
  const user = {
    email: 'kim@localhost',
    firstname: 'K',
    lastname: 'M',
    password: secret('password'),
    disabled: 'false',
  }
  await daemon.data('POST', '/localUsers/users', user)
  const group = await daemon.data('POST', '/ipgroups', { name: 'lan', networkIp: '192.0.2.0', networkMask: 24 })
  const sip = await daemon.data('POST', `/${node}/sips`, { groupId: group.id, ip: '192.0.2.9' })
  const passphrases = { authPassphrase: secret('auth'), privacyPassphrase: secret('privacy') }
  await daemon.data('POST', '/snmp/users', { username: 'watcher', ...passphrases })
  await daemon.data('PUT', '/snmp', {
    serviceIpId: sip.id,
    enabledV2: true,
    enabledV3: true,
    community: secret('community'),
  })
  const address = { value: 'proxy.example', port: 3128 }
  await daemon.data('PUT', `/${node}/system/proxy`, {
    enable: true,
    address,
    username: 'me',
    password: secret('proxy'),
    bypass: [],
  })
  const host = { host: '127.0.0.1', port: 9, sharedSecret: secret('host-secret'), priority: 1 }
  const radius = { enabled: true, timeout: 1, retries: 0, hosts: [host], sharedSecret: secret('shared-secret') }
  await daemon.data('PUT', '/radius/config', radius)
  await daemon.call('POST', '/radius/config/test', { body: { ...radius, username: 'x', password: secret('tried') } })
  await daemon.call('POST', '/token', { body: { email: 'kim@localhost', password: secret('wrong') }, token: '' })
  await daemon.data('PUT', '/oidc/config', { clientSecret: secret('client-secret') })
  await withOutsiders(daemon, secret)
  const back = `/oidc/callback?code=${secret('provider-code')}&state=x`
  await daemon.call('GET', back, { token: '', headers: { cookie: `__Host-fulcrum-oidc=${secret('ticket')}` } })
  await daemon.call('POST', '/saml/token', { body: { code: secret('code') }, token: '' })
  const changed = { currentPassword: secret('current'), newPassword: secret('new') }
  await daemon.call('PUT', '/localUsers/me/password', { body: changed })
  const shown = await daemon.call('GET', '/services/pending?render=true')
  await daemon.data('PUT', '/services/apply', { comment: 'all of it' })
  const made = await daemon.data('POST', '/localUsers/me/tokens', { name: 'a program' })
  // The random part may contain an underscore.
  secrets['API token'] = String(made.token).slice(-SECRET_LENGTH)
  const session = await daemon.call('POST', '/token', {
    body: { email: user.email, password: user.password },
    token: '',
  })
  const token = String(session.json.data.token)
  secrets['session token'] = token.split('.')[2] ?? ''
  const begun = await daemon.call('POST', '/localUsers/me/2fa', { body: { password: user.password }, token })
  secrets['TOTP secret'] = String(begun.json.data.secret)
  const code = hotp(secrets['TOTP secret'], Math.floor(Date.now() / 30_000))
  const confirmed = await daemon.call('POST', '/localUsers/me/2fa/confirm', { body: { code }, token })
  for (const [n, recovery] of confirmed.json.data.recoveryCodes.entries())
    secrets[`recovery code ${n}`] = String(recovery)
  const backup = await daemon.call('GET', '/backup', { headers: { 'x-backup-passphrase': secret('backup') } })
  await daemon.call('POST', '/backup/upload', { body: { backup: backup.text } })
  const list = await daemon.data('GET', '/backup/list')
  const file = list.uploads[0]?.file ?? 'x'
  await daemon.call('POST', '/backup/restore', {
    body: { file, sections: ['layer7'] },
    headers: { 'x-backup-passphrase': secret('wrong-backup') },
  })
  const headers = { 'x-backup-passphrase': secret('backup') }
  test.match((await daemon.call('POST', '/backup/restore', { body: { file }, headers })).json, { job: String })
  // A broken body with a secret in it: the refusal must not repeat it.
  for (const [path, body] of [
    ['/snmp/users', { username: 'x y', authPassphrase: secret('broken'), privacyPassphrase: 7 }],
    ['/localUsers/users', { email: 'x', password: secret('broken'), [secret('unheard')]: 1 }],
    ['/radius/config/test', { sharedSecret: `${secret('broken')}\n`, username: 7 }],
  ] as const)
    await daemon.call('POST', path, { body })
  return { secrets, shown }
}

t.test(
  'secrets: no secret that was sent is in an answer, the log, the audit log, a process list or a readable file',
  async (test) => {
    const daemon = await daemonFixture(test, ['--no-demo'])
    const started_ms = Date.now()
    const processes = watchProcesses(daemon)
    test.teardown(processes.end)
    const { secrets, shown } = await withSecrets(test, daemon)
    // Users who may change the community see it; to others it reads **.
    delete secrets['community']
    // An unknown field has to be named, or the user cannot find it.
    delete secrets['unheard']
    test.ok(Object.keys(secrets).length > 25, Object.keys(secrets).join(', '))
    test.ok(Object.values(secrets).every((secret) => secret.length > 8))
    const places: Record<string, string> = { 'pending, rendered': shown.text, ...(await answers(test, daemon)) }
    const jobs: readonly { readonly id: string }[] = await daemon.data('GET', '/jobs')
    for (const { id } of jobs) places[`job ${id}`] = (await daemon.call('GET', `/jobs/${id}`)).text
    const { revision } = await daemon.data('GET', '/services/pending')
    for (let n = 1; n <= revision; n += 1)
      places[`difference ${n}`] = (await daemon.call('GET', `/revisions/${n - 1}/diff/${n}`)).text
    await until(
      'the log',
      async () => daemon.stderr + daemon.stdout,
      (text) => text.includes('/revisions') || text.length > 1000,
    )
    await wait(200)
    Object.assign(places, { stderr: daemon.stderr, stdout: daemon.stdout, processes: [...processes.seen].join('\n') })
    for (const path of filesIn(join(daemon.state, 'audit')))
      places[relative(daemon.state, path)] = readFileSync(path, 'latin1')
    for (const { name } of readdirSync(tmpdir(), { withFileTypes: true }).filter((entry) => entry.isFile())) {
      const text = writtenSince(join(tmpdir(), name), started_ms)
      if (text !== undefined) places[join(tmpdir(), name)] = text
    }
    test.ok(Object.keys(places).length > 100, `${Object.keys(places).length} places`)
    for (const [name, secret] of Object.entries(secrets)) {
      const found = Object.entries(places).filter(
        ([, text]) => text.includes(secret) || text.includes(Buffer.from(secret).toString('base64')),
      )
      test.same(
        found.map(
          ([place, text]) =>
            `${place}: …${text.slice(Math.max(0, text.indexOf(secret) - 80), text.indexOf(secret) + 10)}`,
        ),
        [],
        name,
      )
    }
  },
)

t.test(
  'secrets: the state folder is for its owner, whatever the umask, and so is every file that may hold a secret',
  async (test) => {
    const daemon = await daemonFixture(test, ['--no-demo'])
    await daemon.data('POST', '/certificates/certs', { name: 'www', ...certificatePair(test) })
    await daemon.data('PUT', '/services/apply')
    test.equal(statSync(daemon.state).mode & 0o077, 0, 'no other user can read it')
    const open = [...filesIn(daemon.state)].filter(
      (path) => ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0,
    )
    test.comment(
      `files that the folder alone protects: ${open.map((path) => relative(daemon.state, path)).join(', ') || 'none'}`,
    )
    test.same(
      open.filter((path) => /key|pem|password|config|audit|backup|token/i.test(relative(daemon.state, path))),
      [],
    )
  },
)

t.test('secrets: an appliance dumps no core, and hides its memory from other accounts', (test) => {
  const unit = readFileSync(join(import.meta.dirname, '../../systemd/fulcrum.service'), 'utf8')
  for (const line of ['LimitCORE=0', 'UMask=0077', 'StateDirectoryMode=0700', 'PrivateTmp=yes', 'NoNewPrivileges=yes'])
    test.ok(unit.split('\n').includes(line), line)
  test.end()
})
