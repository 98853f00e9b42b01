import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { FULCRUM_OID, fulcrumMib } from '../../src/snmp/fulcrum-mib.ts'
import { namesOf } from '../src/stats/names-fixture.ts'

/** docs/FULCRUM-MIB.txt as read by the programs of Net-SNMP. */

const FILE = fileURLToPath(new URL('../../docs/FULCRUM-MIB.txt', import.meta.url))
// Debian has no package of the modules with which every MIB begins.
const STANDARD = join(dirname(createRequire(import.meta.url).resolve('net-snmp')), 'lib/mibs')
const FOLDERS = [STANDARD, fileURLToPath(new URL('../fixtures/mibs', import.meta.url)), '/usr/share/snmp/mibs']

function translated(...words: readonly string[]): readonly string[] {
  const argv = ['-M', FOLDERS.join(':'), '-m', FILE, ...words]
  const { stdout, stderr, status } = spawnSync('snmptranslate', argv, { encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return [
    ...stdout.split('\n').filter((line) => line !== ''),
    ...stderr.split('\n').filter((line) => line.includes('FULCRUM')),
  ]
}

const skip = spawnSync('snmptranslate', ['-V']).error === undefined ? false : 'snmptranslate is not installed'

t.test('every served object has its name, and every readable name is served', { skip }, async (test) => {
  const names = namesOf([{ id: 'a', name: 'a' }], [{ id: 'b', name: 'b', reals: [{ ripId: 'c', name: 'c' }] }])
  const live = { figure: () => '1', counting: { age_ms: () => 0 } }
  const mib = fulcrumMib({ names, live, answers: () => true, nodeId: 'n', version: '1' })
  const served: string[] = []
  for (let next = mib.next(FULCRUM_OID, false); next !== undefined; next = mib.next(next.oid, false))
    served.push(`.${next.oid.join('.')}`)
  const named = translated('-OS', ...served)
  test.equal(named.length, served.length)
  test.ok(named.includes('FULCRUM-MIB::fulcrumNodeId.0'), named.join())
  test.ok(named.includes(`FULCRUM-MIB::fulcrumFrontendName.'a'`))
  test.ok(named.includes(`FULCRUM-MIB::fulcrumRealServerBytesOut."b".'c'`))
  const readable = readFileSync(FILE, 'utf8').matchAll(/^(\w+) OBJECT-TYPE\s+SYNTAX[^]*?MAX-ACCESS\s+([\w-]+)/gm)
  const wanted = [...readable].filter(([, , access]) => access === 'read-only').map(([, name]) => name)
  const seen = named.map((name) => /::(\w+)/.exec(name)?.[1])
  test.same(new Set(seen), new Set(wanted))
})

t.test('every notification and its objects have names', { skip }, (test) => {
  const oid = `.${FULCRUM_OID.join('.')}`
  const alert = Array.from({ length: 9 }, (_, at) => `${oid}.1.5.${at + 1}.0`)
  const named = translated('-OS', ...[1, 2, 3].map((number) => `${oid}.0.${number}`), ...alert)
  test.same(named, [
    'FULCRUM-MIB::fulcrumAlertRaised',
    'FULCRUM-MIB::fulcrumAlertCleared',
    'FULCRUM-MIB::fulcrumAlertTest',
    'FULCRUM-MIB::fulcrumAlertMessageId.0',
    'FULCRUM-MIB::fulcrumAlertPhase.0',
    'FULCRUM-MIB::fulcrumAlertSeverity.0',
    'FULCRUM-MIB::fulcrumAlertRule.0',
    'FULCRUM-MIB::fulcrumAlertObjectId.0',
    'FULCRUM-MIB::fulcrumAlertObjectName.0',
    'FULCRUM-MIB::fulcrumAlertText.0',
    'FULCRUM-MIB::fulcrumAlertCount.0',
    'FULCRUM-MIB::fulcrumAlertNodeId.0',
  ])
  test.end()
})
