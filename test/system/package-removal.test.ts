import t from 'tap'
import { until } from '../fixtures/until.ts'
import { containerObstacle, containerTree } from './container.ts'
import { NODE, startPackagedMachine } from './packaged-machine.ts'

/** The Debian package, removed from a machine that serves a site, with its data or without, and installed again. */

const ONCE = `mkdir /run/systemd/system/fulcrum.service.d && cd /run/systemd/system/fulcrum.service.d &&
  printf '[Service]\\nRestart=no\\n' >once.conf && systemctl daemon-reload`
const ACCOUNTS = ['fulcrum-check', 'fulcrum-etcd'] as const

t.setTimeout(1_800_000)

// Its dependencies are present: the installation test covers them.
t.test('the package leaves a machine', { skip: containerObstacle() ?? false }, async (t) => {
  const it = await startPackagedMachine(t, containerTree)
  const { machine, api, shell, apt, install, ours, exists, answers, fetched, logIn, serve } = it
  await install()
  if (!(await answers())) return t.fail(await it.journal())
  await logIn()
  await serve()
  /** The daemon crashes, and systemd does not start it again. */
  const fail = async () => {
    await shell(`${ONCE} && systemctl kill --signal=KILL fulcrum`)
    await until('failure', async () => (await shell('systemctl is-failed fulcrum')) === 'failed')
    await shell('rm -r /run/systemd/system/fulcrum.service.d')
  }

  await t.test('its settings for other units stay where they are configured, until it is back', async (t) => {
    const left = () => shell('find /etc/systemd/system /etc/tmpfiles.d -name "fulcrum*.conf" -size +0 | sort')
    const weights = () => shell('systemd-tmpfiles --cat-config | grep -c /run/fulcrum-weights')
    await shell('mkdir -p /etc/keepalived /var/lib/snmp/fulcrum && touch /etc/keepalived/fulcrum-checker.env')
    await apt('remove', 'fulcrum')
    const dropIns = ['keepalived', 'nftables', 'snmpd'].map(
      (unit) => `/etc/systemd/system/${unit}.service.d/fulcrum.conf`,
    )
    t.same((await left()).split('\n'), [...dropIns, '/etc/tmpfiles.d/fulcrum-weights.conf'])
    t.equal(await weights(), '1')
    await install()
    t.equal(await left(), '')
    t.equal(await weights(), '1')
    await shell('rm -r /etc/keepalived/fulcrum-checker.env /var/lib/snmp/fulcrum')
  })

  await t.test('a removal keeps data and traffic; the next installation continues with them', async (t) => {
    await apt('remove', 'fulcrum')
    t.notOk(await answers())
    t.equal(await fetched(), 'origin')
    t.ok(await exists('/var/lib/fulcrum/config'))
    t.notOk(await exists('/opt/fulcrum/src'))
    await install()
    t.match((await api.request('GET', '/layer7proxy/frontends')).data, [{ name: 'web' }])
  })

  await t.test('a purge leaves nothing of ours, and traffic', async (t) => {
    const node = (await api.request('GET', '/ping')).status
    t.equal(node, 200)
    await fail()
    await apt('purge', 'fulcrum')
    t.equal(await ours(), '')
    t.equal(await fetched(), 'origin', 'the configuration of HAProxy stays')
    t.equal((await machine.run('getent', 'passwd', ...ACCOUNTS)).exitCode, 0, 'and no other account gets their ids')
    // systemd remembers the name of a unit for a moment after a query.
    const units = () => shell('systemctl list-units --all --plain --no-legend "fulcrum*"')
    await until('end of the units', async () => (await units()) === '').catch(async (error: Error) => {
      t.fail(`${error.message}: ${await units()}\n${await it.journal()}`)
    })
  })

  await t.test('an installation after a purge is a first one', async (t) => {
    await install()
    t.ok(await answers())
    await logIn()
    t.same((await api.request('GET', '/layer7proxy/frontends')).data, [])
    await serve()
  })

  await t.test('a port that another unit uses is refused with its name', async (t) => {
    machine.start('systemd-run', '--unit=other', NODE, '-e', `require('node:net').createServer().listen(8081)`)
    await until('the other', async () => (await shell('ss -Hltn sport = :8081')) !== '')
    const site = { name: 'other', mode: 'http', ip: '127.0.0.1', ports: '8081' }
    await api.create('/layer7proxy/frontends', site)
    const { status, text } = await api.request('PUT', '/services/apply')
    t.equal(status, 422)
    t.match(text, 'cannot bind socket (Address already in use by other.service) for [127.0.0.1:8081]')
  })
  return undefined
})
