import type { Test } from 'tap'
import type { Container } from './container.ts'

/** The etcd member of a machine, as an attacker who takes it over finds it. */

const FOLDER = '/var/lib/fulcrum/cluster'
/** Inside the namespaces of its unit, with its account. */
const TRY = `pid=$(systemctl show -P MainPID fulcrum-etcd)
as() { nsenter -t "$pid" -m -- setpriv --reuid fulcrum-etcd --regid fulcrum-etcd --clear-groups -- "$@"; }
cd /
files=$(find ${FOLDER} -maxdepth 1 -type f | sort)
for path in $files; do as cat "$path" >/dev/null 2>&1 && echo "reads $path"; done
for path in $files ${FOLDER}/new ${FOLDER}/etcd/new; do as touch "$path" 2>/dev/null && echo "writes $path"; done
as ls ${FOLDER} >/dev/null 2>&1 && echo 'lists the folder'
as rm ${FOLDER}/etcd/new
echo "sees $(nsenter -t "$pid" -m -- ls /var/lib /var/lib/fulcrum | xargs)"`
const OUTSIDE = `setpriv --reuid fulcrum-etcd --regid fulcrum-etcd --clear-groups -- cat ${FOLDER}/peer-key.pem`
const PARTS = ['authority.pem', 'certificate.pem', 'key.pem', 'revoked.crl'] as const
const OF_NODES = ['client', 'peer'].flatMap((role) => PARTS.map((part) => `${role}-${part}`))
/** A witness has no port for clients; these two files of the client side say whom its daemon accepts. */
const OF_WITNESSES = ['client-authority.pem', 'client-revoked.crl', ...PARTS.map((part) => `peer-${part}`)]

export interface EtcdAccountOptions {
  readonly isWitness?: boolean
}

/** Asserts that it has neither capabilities nor any of the daemon's data, except for what it needs to listen. */
export async function assertHeldBack(t: Test, machine: Container, { isWitness = false }: EtcdAccountOptions = {}) {
  const shell = async (script: string) => (await machine.run('sh', '-c', script)).stdout.trim()
  const uid = await shell('id -u fulcrum-etcd')
  const status = await shell('cat /proc/$(systemctl show -P MainPID fulcrum-etcd)/status')
  t.match(status, new RegExp(`^Uid:(\\t${uid}){4}$`, 'm'), 'it runs under its own account')
  t.match(status, /^Groups:\t? *(\d+ *)?$/m, 'in no other group')
  for (const powers of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb']) t.match(status, new RegExp(`^Cap${powers}:\t0+$`, 'm'))
  const secret = isWitness ? 'witness.json' : 'membership.json'
  t.match(await shell(`stat -c '%a %U' ${FOLDER}/${secret}`), '600 root')
  const readable = (isWitness ? OF_WITNESSES : OF_NODES).map((name) => `reads ${FOLDER}/${name}`)
  t.same(
    (await shell(TRY)).split('\n'),
    [...readable, `writes ${FOLDER}/etcd/new`, 'sees /var/lib: fulcrum /var/lib/fulcrum: cluster'],
    'it reads what it needs to listen, and writes only its own data',
  )
  t.equal(await shell(`find ${FOLDER} -perm /007 ! -type l ! -type s`), '', 'others can read none of it')
  t.match(
    await machine.run('sh', '-c', OUTSIDE),
    { exitCode: 1, stderr: /Permission denied/ },
    'outside of its unit, not even its own account',
  )
}
