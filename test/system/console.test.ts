import { randomUUID } from 'node:crypto'
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { startAppliance } from './appliance-container.ts'
import { containerObstacle } from './container.ts'

/** Console access of a Debian machine: an account that can log in, and an account that cannot. */

const API_PORT = 9443
const FIRST = 'Erstes-Wort-1'
const SECOND = 'Zweites: "Wort" $2 \\ü'

t.setTimeout(1_800_000)

t.test('console access', { skip: containerObstacle() ?? false }, async (t) => {
  const { machine, api, output, write, journal, node } = await startAppliance(t)
  const path = `/${node}/system/userinterface`
  const put = (body: object) => api.request('PUT', path, { apiPort: API_PORT, ...body })
  const isOn = async () => ((await api.request('GET', path)).data as { consoleEnabled?: boolean }).consoleEnabled
  const pending = async () => ((await api.request('GET', '/services/pending')).data as { count: number }).count
  const shadow = async () => (await output('getent', 'shadow', 'console')).split(':')[1] ?? ''
  const shell = async () => (await output('getent', 'passwd', 'console')).split(':')[6] ?? ''
  /** The screen of a user who logs in on a terminal and runs `whoami`. Types the answers to the terminal's prompts. */
  const logIn = async (password: string) => {
    const folder = `/tmp/terminal-${randomUUID()}`
    const shows = (words: string) => `until grep -qE '${words}' ${folder}/seen; do sleep 0.1; done`
    const typed = [
      shows('Password:'),
      `printf '%s\\n' '${password}'`,
      shows('incorrect|console@|not available'),
      `grep -q console@ ${folder}/seen && echo 'echo I am $(whoami)' && ${shows('I am console')}`,
      `kill $(cat ${folder}/pid)`,
    ]
    await write(`${folder}/typed`, typed.join('\n'))
    const terminal = `echo $$ > ${folder}/pid; exec timeout 300 script -qefc "login console" ${folder}/seen`
    await write(`${folder}/terminal`, terminal)
    const seen = await output('sh', '-c', `timeout 300 sh ${folder}/typed | sh ${folder}/terminal`)
    await machine.run('rm', '-r', folder)
    return seen
  }
  const welcome = /^I am console\r?$/m

  await t.test('initially off, without an account, and the password is required', async (t) => {
    t.equal(await isOn(), false)
    t.equal(await shell(), '')
    t.equal((await put({ consoleEnabled: true })).status, 422)
    t.equal((await put({ consoleEnabled: true, consolePassword: 'short' })).status, 422)
    t.equal(await shell(), '', 'no account was created')
  })

  await t.test('on: at once, with this password and no other', async (t) => {
    const { status, text } = await put({ consoleEnabled: true, consolePassword: FIRST })
    t.equal(status, 200, text)
    t.equal(await isOn(), true)
    t.equal(await pending(), 0, 'nothing is staged')
    t.equal(await shell(), '/bin/bash')
    const [accepted = '', refused = ''] = await Promise.all([FIRST, 'Falsches-Wort-1'].map(logIn))
    t.match(accepted, welcome)
    t.match(refused, /Login incorrect/)
    t.notMatch(refused, welcome)
  })

  await t.test('only the password changes: the new one works, and the old one does not', async (t) => {
    const { status, text } = await put({ consolePassword: SECOND })
    t.equal(status, 200, text)
    const [accepted = '', refused = ''] = await Promise.all([SECOND, FIRST].map(logIn))
    t.match(accepted, welcome)
    t.notMatch(refused, welcome)
  })

  await t.test('a shell that another program removes is noticed at once', async (t) => {
    await machine.run('usermod', '--shell', '/usr/sbin/nologin', 'console')
    t.equal(await isOn(), false)
    await machine.run('usermod', '--shell', '/bin/bash', 'console')
    t.equal(await isOn(), true)
  })

  await t.test('off: sessions are ended, no login works, and the password is another', async (t) => {
    const before = await shadow()
    const running = () => output('pgrep', '-u', 'console')
    machine.start('setpriv', '--reuid', 'console', '--regid', 'console', '--clear-groups', 'sleep', '4712')
    await until('a program of its own', async () => (await running()) !== '')
    const { status, text } = await put({ consoleEnabled: false })
    t.equal(status, 200, text)
    t.equal(await isOn(), false)
    t.equal(await shell(), '/usr/sbin/nologin')
    t.not(await shadow(), before)
    t.match(await shadow(), /^\$/, 'an unknown password')
    // Its parent has yet to notice its end.
    await until('its end', async () => (await running()) === '')
    t.notMatch(await logIn(SECOND), welcome)
    // Even with its shell back, the old password opens nothing.
    await machine.run('usermod', '--shell', '/bin/bash', 'console')
    t.notMatch(await logIn(SECOND), welcome)
    await machine.run('usermod', '--shell', '/usr/sbin/nologin', 'console')
  })

  await t.test('no password is stored anywhere', async (t) => {
    await put({ consoleEnabled: true, consolePassword: SECOND })
    const places = ['/var/lib/fulcrum', '/var/cache/fulcrum', '/var/log', '/run', '/etc', '/tmp']
    for (const password of [FIRST, SECOND]) {
      t.equal(await output('grep', '-rFl', '--devices=skip', password, ...places), '')
      t.notOk((await output('journalctl', '--no-pager', '-o', 'export')).includes(password), 'journal')
      t.notOk((await journal()).includes(password))
    }
  })

  await t.test('no password is among the arguments of a process', async (t) => {
    const watch = 'while ! test -e /tmp/stop; do cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " " >> /tmp/seen; done'
    machine.start('timeout', '300', 'sh', '-c', watch)
    const secret = 'Gesehen-wird-0-davon'
    // A look may come too early or too late for a short-lived program.
    await until('look at chpasswd', async () => {
      t.equal((await put({ consolePassword: secret })).status, 200)
      // The pattern must not match itself.
      return (await machine.run('grep', '-q', '[c]hpasswd', '/tmp/seen')).exitCode === 0
    })
    await write('/tmp/stop', '')
    const seen = await output('cat', '/tmp/seen')
    t.match(seen, /chpasswd/, 'the process list was read while the password was set')
    t.notOk(seen.includes(secret))
  })
})
