import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { containerObstacle } from './container.ts'
import { KEPT, OLDER } from './fulcrum-package.ts'
import { bareTree, FIRST_PASSWORD, startPackagedMachine } from './packaged-machine.ts'

/** The Debian package, installed by apt on a machine without its dependencies, and upgraded there. */

/** Each request starts a program, which takes the processor from the installation. */
const BETWEEN_REQUESTS_MS = 50
const ACCOUNTS = ['fulcrum-check', 'fulcrum-etcd'] as const

t.setTimeout(1_800_000)

t.test('the package on a machine', { skip: containerObstacle() ?? false }, async (t) => {
  const it = await startPackagedMachine(t, bareTree, { both: true })
  const { machine, api, output, shell, apt, install, ours, exists, answers, fetched, logIn, serve } = it
  const property = (unit: string, name: string) => output('systemctl', 'show', '-P', name, unit)
  t.equal(await ours(), '')

  await t.test('is refused over a clone', async (t) => {
    await shell('mkdir -p /opt/fulcrum/.git')
    const refused = await machine.run('dpkg', '-i', `/mnt/fulcrum_${KEPT}_amd64.deb`)
    t.not(refused.exitCode, 0)
    t.match(refused.stderr, /\/opt\/fulcrum is a clone/)
    await shell('rm -r /opt/fulcrum')
    t.equal(await ours(), '')
  })

  await t.test('is installed with its dependencies, starts, and shows the password to root alone', async (t) => {
    t.match(await install(OLDER), /password of the first administrator is in \/var\/lib\/fulcrum\/first-password/)
    t.equal(await output('systemctl', 'is-active', 'fulcrum'), 'active')
    t.equal(await output('systemctl', 'is-enabled', 'fulcrum', 'fulcrum-network'), 'enabled\nenabled')
    t.ok(await answers(), 'over TLS')
    t.match(await property('fulcrum', 'StatusText'), /version 0\.1\.0~1/)
    t.equal(await output('stat', '-c', '%a %U', FIRST_PASSWORD), '600 root')
    t.notMatch(await shell('journalctl --no-pager -o export'), await output('cat', FIRST_PASSWORD))
    await logIn()
    t.notOk(await exists(FIRST_PASSWORD), 'deleted after the first login')
    t.equal((await api.request('GET', '/docs')).status, 200)
    t.equal(await output('dpkg', '--verify', 'fulcrum'), '')
    for (const account of ACCOUNTS)
      t.match(await output('getent', 'passwd', account), /:\/nonexistent:\/usr\/sbin\/nologin$/)
  })
  if (!(await answers())) return t.fail(await it.journal())

  await t.test('an upgrade keeps data, settings, traffic and jobs', async (t) => {
    await serve()
    await machine.run('systemd-run', '--quiet', '--unit=job', 'sleep', '600')
    await shell(`echo '# of the administrator' >> /etc/default/fulcrum`)
    const units = () => Promise.all(['haproxy', 'job', 'fulcrum'].map((unit) => property(unit, 'MainPID')))
    const before = await units()
    const traffic = { served: 0, failed: 0, isOver: false }
    const client = (async () => {
      while (!traffic.isOver) {
        traffic[(await fetched()) === 'origin' ? 'served' : 'failed'] += 1
        await wait(BETWEEN_REQUESTS_MS)
      }
    })()
    await install()
    traffic.isOver = true
    await client
    t.equal(traffic.failed, 0, `${traffic.served} requests meanwhile`)
    const after = await units()
    t.strictSame(after.slice(0, 2), before.slice(0, 2), 'HAProxy and the job are the same processes')
    t.not(after[2], before[2], 'the daemon is a new one')
    t.match(await property('fulcrum', 'StatusText'), /version 0\.1\.0~2/)
    const { status, data } = await api.request('GET', '/layer7proxy/frontends')
    t.equal(status, 200, 'the session is still valid')
    t.match(data, [{ name: 'web' }])
    t.notOk(await exists(FIRST_PASSWORD))
    t.match(await output('cat', '/etc/default/fulcrum'), /# of the administrator/)
  })

  await t.test('units that the administrator disabled and stopped stay so', async (t) => {
    await machine.run('systemctl', 'disable', '--now', 'fulcrum')
    await apt('install', '--reinstall', `/mnt/fulcrum_${KEPT}_amd64.deb`)
    t.equal(await output('systemctl', 'is-active', 'fulcrum'), 'inactive')
    await machine.run('systemctl', 'enable', '--now', 'fulcrum')
    t.ok(await answers())
  })
  return undefined
})
