import { chmodSync, readFileSync } from 'node:fs'
import t from 'tap'
import { temporaryFolder } from '../fixtures/folder.ts'
import { until } from '../fixtures/until.ts'
import { startAppliance } from './appliance-container.ts'
import { packed, publish, type TestPackage } from './apt-repository.ts'
import { containerObstacle } from './container.ts'

/** Updates by a real apt with packages that this test builds, on a real machine that is a container. */

interface Job {
  readonly id: string
  readonly state: string
  readonly result: { readonly packages: readonly unknown[] } | null
  readonly problem: { readonly code: string; readonly message: string } | null
  readonly log: readonly string[]
}

const LIST = '/etc/apt/sources.list'
const repository = (suite: string) => `deb [trusted=yes] file:/srv/repository ${suite} main\n`
/** Runs until it is released or killed. */
const WAITS = 'touch /run/waits; for i in $(seq 6000); do [ -e /run/goes-on ] && break; sleep 0.1; done'

const obstacle = containerObstacle()
t.setTimeout(1_800_000)

t.test('updates of a real machine', { skip: obstacle ?? false }, async (t) => {
  const folder = temporaryFolder(t, 'repository')
  chmodSync(folder, 0o755)
  const make = (one: TestPackage) => packed(folder, one)
  const probe = (version: string, more: Partial<TestPackage> = {}) =>
    make({ name: 'probe', version, conffiles: { '/etc/probe.conf': `default of ${version}\n` }, ...more })
  const offer = (...files: readonly string[]) => publish(folder, 'one', 'Test', files)
  await offer()
  await publish(folder, 'one-security', 'Test-Security', [])
  const { machine, api, output, write, node, startDaemon, journal } = await startAppliance(t, [
    { host: folder, inside: '/srv/repository' },
  ])
  const path = `/${node}/system/update`
  const shell = (script: string) => output('sh', '-c', script)
  const versionOf = (name: string) => output('dpkg-query', '-W', '-f', '${Version} ${db:Status-Status}', name)
  const status = async (force = false) => {
    const answer = await api.request('GET', `${path}/status${force ? '/force' : ''}`)
    t.equal(answer.status, 200, answer.text)
    return { ...(answer.data as { details: object[]; majorVersion: unknown[] }), text: answer.text }
  }
  const jobOf = async (id: string) => (await api.request('GET', `/jobs/${id}`)).data as Job | undefined
  const begin = async (target = path, body?: object) => {
    const answer = await api.request('PUT', target, body)
    t.equal(answer.status, 202, answer.text)
    return answer.job
  }
  const ended = async (id: string): Promise<Job> => {
    let job: Job | undefined
    await until('end of the job', async () => {
      job = await jobOf(id)
      return job !== undefined && job.state !== 'running'
    })
    if (job === undefined) throw new Error('no job')
    return job
  }
  const succeeded = async (id: string) => {
    const job = await ended(id)
    t.equal(job.state, 'succeeded', JSON.stringify(job, undefined, 1))
    return job
  }
  const install = async (file: string) => {
    const { exitCode, stderr } = await machine.run(
      'dpkg',
      '--install',
      `/srv/repository/${file.slice(folder.length + 1)}`,
    )
    t.equal(exitCode, 0, stderr)
  }
  await write(LIST, repository('one') + repository('one-security'))
  await install(await probe('1.0'))
  await install(await make({ name: 'safe', version: '1.0' }))

  await t.test('the status is what apt knows, and is refreshed by force', async (t) => {
    t.match(await status(), { restartRequired: false, majorVersion: [], details: [] })
    await offer(await probe('2.0'))
    await publish(folder, 'one-security', 'Test-Security', [await make({ name: 'safe', version: '1.1' })])
    t.match(await status(), { details: [] }, 'nothing was asked yet')
    const forced = await status(true)
    t.strictSame(forced.details, [
      {
        name: 'probe',
        summary: 'package probe of the tests',
        description: 'It has two\n\nparagraphs.',
        url: 'https://packages.test/probe',
        license: '',
        architecture: 'all',
        repository: 'Test:1',
        release: 'one',
        currentVersion: '1.0',
        security: false,
        pendingVersion: '2.0',
      },
      {
        name: 'safe',
        summary: 'package safe of the tests',
        description: 'It has two\n\nparagraphs.',
        url: 'https://packages.test/safe',
        license: '',
        architecture: 'all',
        repository: 'Test-Security:1',
        release: 'one-security',
        currentVersion: '1.0',
        security: true,
        pendingVersion: '1.1',
      },
    ])
    const plain = await status()
    t.match(plain.details, [{ name: 'probe' }, { name: 'safe', security: true }])
    t.notMatch(plain.text, /pendingVersion/)
  })

  await t.test('an update installs everything and keeps configuration files that were changed', async (t) => {
    await write('/etc/probe.conf', 'changed here\n')
    const id = await begin()
    const job = await succeeded(id)
    t.match(job, { problem: null, result: { restartRequired: false } })
    t.equal(await shell(`journalctl -o cat --no-pager | grep -c "^Started fulcrum-job-${id}"`), '1', 'started once')
    t.strictSame(job.result?.packages, [
      { name: 'probe', from: '1.0', to: '2.0' },
      { name: 'safe', from: '1.0', to: '1.1' },
    ])
    t.equal(await shell('cat /etc/probe.conf'), 'changed here')
    t.match(job.log.join('\n'), /Setting up probe \(2\.0\)/)
    t.match(await status(), { details: [] })
  })

  await t.test(
    'a failing maintainer script is a failed job with its output; the next update repairs first',
    async (t) => {
      await offer(await probe('3.0', { postinst: 'echo the reason of it; exit 7' }))
      const job = await ended(await begin())
      t.match(job, { state: 'failed', problem: { code: 'APPLY_PARTIAL' } })
      t.match(job.problem?.message, /the reason of it/)
      t.match(await versionOf('probe'), /3\.0 half-configured/)
      await offer(await probe('3.1'))
      await succeeded(await begin())
      t.equal(await versionOf('probe'), '3.1 installed')
    },
  )

  await t.test('an uploaded package is checked, and installed with the next update', async (t) => {
    const file = readFileSync(await make({ name: 'extra', version: '1:1.0~a' }))
    const upload = (content: string) => api.request('POST', path, { packages: content })
    const wrong = {
      'no base64': '*'.repeat(8),
      'no package': Buffer.from('no package at all').toString('base64'),
      'cut off': file.subarray(0, file.length - 200).toString('base64'),
      'another architecture': readFileSync(await make({ name: 'foreign', version: '1', arch: 'mips' })).toString(
        'base64',
      ),
    }
    for (const [name, content] of Object.entries(wrong)) {
      const { status: code, text } = await upload(content)
      t.equal(code, 422, `${name}: ${text}`)
      t.match(text, /"field":"packages"/, name)
    }
    t.equal(await shell('ls -A /var/lib/fulcrum/packages'), '', 'none of them is kept')
    const { status: code, data } = await upload(file.toString('base64'))
    t.equal(code, 200)
    t.strictSame(data, { packages: { name: 'extra', version: '1:1.0~a', arch: 'all' } })
    t.equal(await shell('stat -c %a /var/lib/fulcrum/packages/*'), '600')
    const job = await succeeded(await begin())
    t.strictSame(job.result?.packages, [{ name: 'extra', from: '', to: '1:1.0~a' }])
    t.equal(await shell('ls -A /var/lib/fulcrum/packages'), '')
  })

  await t.test('an update removes nothing', async (t) => {
    const upload = readFileSync(await make({ name: 'rival', version: '1', conflicts: 'extra' }))
    const { status: code } = await api.request('POST', path, { packages: upload.toString('base64') })
    t.equal(code, 200)
    const job = await ended(await begin())
    t.match(job, { state: 'failed', problem: { message: /install the uploaded packages[^]*remove/i } })
    t.equal(await versionOf('extra'), '1:1.0~a installed')
    t.equal(await shell('ls -A /var/lib/fulcrum/packages'), '', 'it does not block later updates')
  })

  await t.test('the daemon is killed midway: the update continues and its result is known', async (t) => {
    await offer(await probe('4.0', { postinst: WAITS }))
    const id = await begin()
    await until('middle', async () => (await machine.run('test', '-e', '/run/waits')).exitCode === 0)
    t.equal((await api.request('PUT', path)).status, 409, 'one at a time')
    t.equal((await api.request('PUT', `/${node}/system/reboot`)).status, 409, 'the machine stays up for it')
    t.equal((await api.request('PUT', '/services/ntp/update')).status, 409)
    await machine.run('systemctl', 'kill', '--kill-whom=main', '--signal=KILL', 'fulcrum')
    await until('daemon', async () => (await jobOf(id))?.state === 'running')
    await machine.run('touch', '/run/goes-on')
    const job = await succeeded(id)
    t.strictSame(job.result?.packages, [{ name: 'probe', from: '3.1', to: '4.0' }])
    t.match(job.log.join('\n'), /the daemon was restarted/)
    const units = () => shell('systemctl list-units --all --plain --no-legend "fulcrum-job-*"')
    await until('end of its unit', async () => (await units()) === '')
  })

  await t.test('a power cut midway: the next start repairs and continues', async (t) => {
    await machine.run('rm', '/run/waits', '/run/goes-on')
    await offer(await probe('5.0', { postinst: WAITS }))
    const id = await begin()
    await until('middle', async () => (await machine.run('test', '-e', '/run/waits')).exitCode === 0)
    await shell('systemctl kill --signal=KILL fulcrum fulcrum-job-*; systemctl stop fulcrum')
    t.match(await versionOf('probe'), /half-configured/)
    await machine.run('touch', '/run/goes-on')
    await startDaemon()
    const job = await succeeded(id)
    t.strictSame(job.result?.packages, [{ name: 'probe', from: '4.0', to: '5.0' }])
    t.match(job.log.join('\n'), /configure half-installed packages/)
    t.equal(await versionOf('probe'), '5.0 installed')
  })

  await t.test('another program uses the package manager: refused, with the file that it locks', async (t) => {
    await machine.run('rm', '/run/waits', '/run/goes-on')
    const other = await make({ name: 'other', version: '1', postinst: WAITS })
    machine.start('dpkg', '--install', `/srv/repository/${other.slice(folder.length + 1)}`)
    await until('middle', async () => (await machine.run('test', '-e', '/run/waits')).exitCode === 0)
    const { status: code, text } = await api.request('PUT', path)
    t.equal(code, 409)
    t.match(text, /\/var\/lib\/dpkg\/lock/)
    await machine.run('touch', '/run/goes-on')
    await until('end', async () => (await versionOf('other')) === '1 installed')
  })

  await t.test('a service has been updated when the request is answered', async (t) => {
    await offer(await make({ name: 'chrony', version: '99.0' }))
    const { status: code, text } = await api.request('PUT', `/${node}/services/ntp/update`)
    t.equal(code, 200, text)
    t.equal(await versionOf('chrony'), '99.0 installed')
    await offer(await make({ name: 'chrony', version: '99.1', postinst: 'echo it is broken; exit 1' }))
    const failed = await api.request('PUT', '/services/ntp/update')
    t.equal(failed.status, 502)
    t.match(failed.data, { nodes: [{ nodeId: node, ok: false, output: /it is broken/ }] })
    await offer(await make({ name: 'chrony', version: '99.2' }))
    t.equal((await api.request('PUT', '/services/ntp/update')).status, 200)
    t.equal(await versionOf('chrony'), '99.2 installed')
  })

  await t.test('an unreachable repository is reported, with the known packages', async (t) => {
    await offer(await probe('6.0'))
    t.match(await status(true), { details: [{ name: 'probe', pendingVersion: '6.0' }] })
    const list =
      repository('one') + repository('one-security') + 'deb [trusted=yes] http://127.0.0.1:9/debian one main\n'
    await write(LIST, list)
    const forced = await status(true)
    t.match(forced.text, /"message":"[^"]*127\.0\.0\.1[^"]*"/)
    t.match(forced.details, [{ name: 'probe', pendingVersion: '6.0' }])
    const job = await ended(await begin())
    t.match(job, { state: 'failed', problem: { message: /contact the repositories[^]*127\.0\.0\.1/ } })
    t.equal(await versionOf('probe'), '5.0 installed')
    await write(LIST, repository('one') + repository('one-security'))
  })

  await t.test('a major version: other suites, or nothing', async (t) => {
    const version = (versionNumber: string, to: string) => ({
      versionNumber,
      osRelease: 'Test 2',
      changelogURL: 'https://packages.test/2',
      osUpdate: true,
      suites: [
        { from: 'one', to },
        { from: 'one-security', to: `${to}-security` },
      ],
    })
    const offered = [version('8.0', 'nowhere'), version('9.0', 'two'), version('0.0.1', 'old')]
    await write('/usr/share/fulcrum/major-versions.json', JSON.stringify(offered))
    await publish(folder, 'two', 'Test', [await probe('20.0')])
    await publish(folder, 'two-security', 'Test-Security', [])
    t.match(await status(), { majorVersion: [{ versionNumber: '8.0', osUpdate: true }, { versionNumber: '9.0' }] })
    t.strictSame((await status(true)).majorVersion, ['8.0', '9.0'])
    const unknown = await api.request('PUT', `${path}/majorversion`, { versionNumber: '7.0' })
    t.equal(unknown.status, 422)
    t.match(unknown.text, /8\.0, 9\.0/)
    const before = await shell(`cat ${LIST}`)
    const failed = await ended(await begin(`${path}/majorversion`, { versionNumber: '8.0' }))
    t.match(failed, { state: 'failed', problem: { message: /contact the repositories of the new version/ } })
    t.equal(await shell(`cat ${LIST}`), before)
    const job = await succeeded(await begin(`${path}/majorversion`, { versionNumber: '9.0' }))
    t.strictSame(job.result?.packages, [{ name: 'probe', from: '5.0', to: '20.0' }])
    t.equal(await shell(`cat ${LIST}`), before.replaceAll('one', 'two'))
  })

  await t.test('folders of jobs are for root alone, and are deleted once no longer needed', async (t) => {
    t.equal(await shell('find /var/lib/fulcrum/jobs -maxdepth 1 -perm /077'), '')
    await machine.run('mkdir', '/var/lib/fulcrum/jobs/forgotten')
    await machine.run('systemctl', 'restart', 'fulcrum')
    await until('tidy', async () => (await machine.run('test', '-e', '/var/lib/fulcrum/jobs/forgotten')).exitCode !== 0)
    t.notMatch(await journal(), /"level":"error"/)
  })
  return undefined
})
