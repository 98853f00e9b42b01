import t from 'tap'
import { until } from '../fixtures/until.ts'
import { startAppliance } from './appliance-container.ts'
import { containerObstacle } from './container.ts'

/**
 * Time zone, chrony's unit, connection tracking and the proxy, with the daemon as its unit confines it on a Debian
 * machine. The machine may not set the clock, so chrony does not start there, and the size of the connection table
 * cannot change.
 */

const CHRONY = '/etc/chrony/chrony.conf'
const APT = '/etc/apt/apt.conf.d/95fulcrum-proxy'
const BYPASS = '/etc/apt/fulcrum-proxy-bypass'
const ENVIRONMENT = '/var/lib/fulcrum/machine/proxy.env'
const SYSCTLS = '/etc/sysctl.d/60-fulcrum-conntrack.conf'
const SECRET = 'p"ss w%rd$HOME;\\'

t.setTimeout(1_800_000)

t.test('settings of the node', { skip: containerObstacle() ?? false }, async (t) => {
  const { machine, api, output, journal, node } = await startAppliance(t)
  const system = `/${node}/system`
  const apply = (body?: object) => api.request('PUT', '/services/apply', body)
  const staged = async (path: string, body: object) => {
    const { status, text } = await api.request('PUT', `${system}${path}`, body)
    t.equal(status, 200, text)
  }
  const applied = async (body?: object) => {
    const { status, text } = await apply(body)
    t.equal(status, 200, text)
  }
  const exists = async (path: string) => (await machine.run('test', '-e', path)).exitCode === 0
  const mode = (path: string) => output('stat', '-c', '%a %U', path)

  await t.test('nothing is changed before an apply', async (t) => {
    for (const path of [APT, BYPASS, ENVIRONMENT, SYSCTLS, '/etc/modules-load.d/fulcrum.conf']) {
      t.notOk(await exists(path), path)
    }
    t.notMatch(await output('cat', CHRONY), /Fulcrum/)
  })

  await t.test('apply sets the time zone, and without a confirmation it is reverted', async (t) => {
    const zone = async () => (await output('readlink', '/etc/localtime')).split('/zoneinfo/')[1]
    const found = await zone()
    await staged('/datetime/timezone', { zone: 'America/Argentina/Salta' })
    t.equal(await zone(), found, 'only staged')
    const { data } = await api.request('GET', `${system}/datetime`)
    t.match(data, { timezone: 'America/Argentina/Salta', dateTime: /-03:00$/ })
    await applied({ confirmWithin: 20 })
    t.equal(await zone(), 'America/Argentina/Salta')
    t.equal(await output('date', '+%z'), '-0300')
    await until('old time zone', async () => (await zone()) === found)
    t.equal((await api.request('DELETE', '/services/pending')).status, 200, 'it is pending again')
    t.match((await api.request('GET', `${system}/datetime`)).data, { dateTime: /\+00:00$/ })

    await staged('/datetime/timezone', { zone: 'Asia/Kathmandu' })
    await applied()
    t.equal(await output('timedatectl', 'show', '--property=Timezone', '--value'), 'Asia/Kathmandu')
    t.match((await api.request('GET', `${system}/datetime`)).data, { dateTime: /\+05:45$/ })
    await machine.run('systemctl', 'restart', 'fulcrum')
    t.equal(await output('date', '+%z'), '+0545')
    const zones = (await api.request('GET', '/system/datetime/timezones')).data as Record<string, object>
    t.match(zones, { America: { 'Argentina/Salta': [] }, Etc: { UTC: [] }, Asia: { Kathmandu: [] } })
  })

  await t.test('a chrony that cannot run is a failure, and its configuration is back as found', async (t) => {
    const found = await output('cat', CHRONY)
    t.equal(await output('systemctl', 'show', '-P', 'ConditionResult', 'chrony'), 'no', 'no right to set the clock')
    await staged('/datetime/ntp', { ntpEnabled: true, ntp: ['192.0.2.1'] })
    const { status, text } = await apply()
    t.equal(status, 502, text)
    t.match(text, /chrony\.service does not run: ConditionCapability=CAP_SYS_TIME was not met/, 'its file was valid')
    t.equal(await output('cat', CHRONY), found)
    t.equal(
      await output('ls', '/etc/chrony'),
      'chrony.conf\nchrony.keys\nconf.d\nsources.d',
      'and no candidate is left',
    )
    t.equal(await output('systemctl', 'is-enabled', 'chrony'), 'enabled')
    await staged('/datetime/ntp', { ntpEnabled: false })
    await applied()
    t.equal(await output('systemctl', 'is-enabled', 'chrony'), 'disabled')
    t.match((await api.request('GET', `${system}/datetime`)).data, { ntpEnabled: false, ntp: ['192.0.2.1'] })
    t.match((await api.request('GET', `${system}/datetime/ntp`)).data, {
      synchronised: false,
      stratum: null,
      servers: [],
    })
  })

  await t.test('connection tracking is set in the kernel and in the files of the next boot', async (t) => {
    const keys = ['max', 'tcp_timeout_established', 'tcp_timeout_fin_wait', 'udp_timeout', 'udp_timeout_stream']
    const values = async () =>
      (await output('sysctl', '-n', ...keys.map((key) => `net.netfilter.nf_conntrack_${key}`))).split('\n')
    const [size = ''] = await values()
    t.match((await api.request('GET', `${system}/conntrack`)).data, { size: Number(size), tcpTimeout: '900' })
    await staged('/conntrack', { size: Number(size), tcpTimeout: '15m', udpTimeout: '45' })
    await applied()
    t.same(await values(), [size, '900', '120', '45', '45'])
    t.match(await output('cat', SYSCTLS), `nf_conntrack_max = ${size}`)
    t.equal(await mode(SYSCTLS), '644 root')
    t.match(await output('cat', '/etc/modules-load.d/fulcrum.conf'), /^nf_conntrack$/m)
    await machine.run('sysctl', '-qw', 'net.netfilter.nf_conntrack_udp_timeout=7')
    await machine.run('sysctl', '-p', SYSCTLS)
    t.same(await values(), [size, '900', '120', '45', '45'], 'the effect of a boot')
  })

  await t.test('the proxy is used by apt and by programs that the daemon starts', async (t) => {
    const address = { value: 'proxy.example.test', port: 3128 }
    const bypass = ['.internal.example.test', '10.0.0.0/8']
    await staged('/proxy', { enable: true, address, username: 'node', password: SECRET, bypass })
    await applied()
    t.same([await mode(APT), await mode(BYPASS), await mode(ENVIRONMENT)], ['600 root', '755 root', '600 root'])
    const config = await output('apt-config', 'dump', '--format', '%F "%v";%n', 'Acquire::http')
    const url = 'http://node:p%22ss%20w%25rd%24HOME%3B%5C@proxy.example.test:3128/'
    t.ok(config.includes(`Acquire::http::Proxy "${url}";`), config)
    t.ok(config.includes(`Acquire::http::Proxy-Auto-Detect "${BYPASS}";`))
    const asked = (host: string) => output('setpriv', '--reuid=_apt', '--clear-groups', BYPASS, `http://${host}/x`)
    t.same([await asked('10.1.2.3'), await asked('deb.example.test')], ['DIRECT', ''])
    const started = ['systemd-run', '-q', '--wait', '--pipe', `--property=EnvironmentFile=-${ENVIRONMENT}`, 'env']
    const environment = (await output(...started)).split('\n').filter((line) => /proxy/i.test(line))
    t.same(environment.toSorted(), [
      `HTTPS_PROXY=${url}`,
      `HTTP_PROXY=${url}`,
      `NO_PROXY=${bypass.join(',')}`,
      `http_proxy=${url}`,
      `https_proxy=${url}`,
      `no_proxy=${bypass.join(',')}`,
    ])
    await staged('/proxy', { enable: false })
    await applied()
    for (const path of [APT, BYPASS, ENVIRONMENT]) t.notOk(await exists(path), path)
    t.notOk((await journal()).includes('w%rd'), 'the log does not hold the password')
  })
})
