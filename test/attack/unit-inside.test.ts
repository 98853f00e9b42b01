/**
 * The possibilities of an attacker who runs code inside the daemon's unit: the same confinement, with a script of
 * attempts in place of the daemon.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { containerObstacle, startContainer } from '../system/container.ts'

const UNIT = readFileSync(new URL('../../systemd/fulcrum.service', import.meta.url), 'utf8')

/** Attempts that the confinement has to refuse, by their purpose. */
const REFUSED: Readonly<Record<string, string>> = {
  'an account of its own': 'echo "x:x:0:0::/:/bin/sh" >> /etc/passwd',
  'a program of its own': 'touch /usr/local/bin/x',
  'another daemon at the next start': 'touch /opt/fulcrum/src/x.ts',
  'a unit of its own': 'touch /etc/systemd/system/x.service',
  'a job at night': 'touch /etc/cron.d/x',
  'keys of root': 'cd ~root && mkdir -p .ssh && touch .ssh/authorized_keys',
  'a setuid program': 'cp /bin/true /var/lib/fulcrum/x && chmod u+s /var/lib/fulcrum/x',
  'a device': 'mknod /var/lib/fulcrum/mem c 1 1',
  'a filesystem': 'mount -t tmpfs none /mnt',
  namespaces: 'unshare --user --map-root-user true',
  'a network of its own': 'unshare --net true',
  'the clock': 'date -s 2001-01-01',
  'the name of the machine': 'hostname other',
  'the kernel': 'sysctl -q -w kernel.core_pattern="|/x"',
  'the kernel’s log': 'dmesg',
  'control groups': 'mkdir /sys/fs/cgroup/x',
  'the memory of the machine': 'dd if=/dev/mem of=/dev/null count=1',
}

const name = (attempt: string) => attempt.replaceAll(/[^a-z]/g, '-')

t.test('code inside the unit', { skip: containerObstacle() ?? false, timeout: 1_800_000 }, async (test) => {
  const machine = await startContainer([])
  test.teardown(() => machine.stop())
  const attempts = Object.entries(REFUSED).map(([what, how]) => `(${how}) 2>/dev/null && echo "done ${name(what)}"`)
  // A process that may talk to systemd is root outside of its confinement: a known limit, and this test notices when it
  // is gone.
  const asks =
    'systemd-run --quiet --wait --pipe sh -c "touch /usr/local/bin/from-outside" && echo "done asked-systemd"'
  const script = `#!/bin/sh\nmkdir -p /var/lib/fulcrum\n${attempts.join('\n')}\n${asks}\necho finished\n`
  const confined = UNIT.replaceAll('\\\n', '')
    .replace(/^ExecStart=.*$/m, 'ExecStart=/bin/sh /run/attempts')
    .replace('Type=notify', 'Type=oneshot')
    .replace(/^(Restart|Watchdog\w+|WorkingDirectory)=.*$/gm, '')
  const write = (path: string, text: string) => machine.run('sh', '-c', 'printf %s "$2" > "$1"', 'sh', path, text)
  await write('/run/attempts', script)
  await machine.run('mkdir', '-p', '/opt/fulcrum/src')
  await write('/etc/systemd/system/inside.service', confined)
  await machine.run('systemctl', 'daemon-reload')
  await machine.run('systemctl', 'start', 'inside')
  // The last messages of a unit may reach the journal after its end.
  await machine.run('journalctl', '--sync')
  const journal = (await machine.run('journalctl', '-u', 'inside', '-o', 'cat', '--no-pager')).stdout
  test.match(journal, /^finished$/m, journal)
  for (const what of Object.keys(REFUSED)) test.notMatch(journal, new RegExp(`^done ${name(what)}$`, 'm'), what)
  test.match(journal, /^done asked-systemd$/m, 'still so: docs/security.md, Known limits; record 91')
  // The attempts are real ones: outside of the unit they succeed.
  const outside = await machine.run('sh', '-c', REFUSED['a program of its own'] ?? '')
  test.equal(outside.exitCode, 0)
})
