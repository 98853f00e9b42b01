import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { readBackup } from '../../../src/backup-file/reading.ts'
import { newSealingKey } from '../../../src/backup-file/sealing.ts'
import { BACKUP_SECTIONS, type BackupSection } from '../../../src/backup-file/sections.ts'
import { parseLimited } from '../../../workers/compute/limited-json.ts'
import { EVERYTHING, signed, SOME, sourceOf, textOf, TWO_NODES } from '../../fixtures/backup.ts'
import { backend, realServer } from '../../fixtures/config.ts'

const read = (text: string, passphrase?: string, sections?: readonly BackupSection[]) =>
  readBackup(Buffer.from(text), passphrase, parseLimited, sections)

function problems(text: string, passphrase?: string): readonly string[] {
  const found = read(text, passphrase)
  return 'problems' in found ? found.problems.map(({ field, code }) => `${field} ${code}`) : []
}

// oxlint-disable-next-line typescript/no-explicit-any -- files are taken apart
function changed(change: (file: any) => void): string {
  const file = JSON.parse(textOf(sourceOf(SOME)))
  change(file)
  return signed(file)
}

t.test('a written file can be read', (test) => {
  const found = read(textOf(sourceOf(EVERYTHING, { nodes: TWO_NODES })))
  test.match(found, { contents: EVERYTHING, head: { isSealed: false, nodes: TWO_NODES } })
  test.end()
})

t.test('host names of real servers are written and read; older files hold addresses only', (test) => {
  const realServers = [
    realServer('live', { ip: 'web.test', resolve: 'live' }),
    realServer('start', { ip: 'localhost', resolve: 'start' }),
    realServer('address', { ip: '2001:db8::1' }),
  ]
  test.match(read(textOf(sourceOf({ realServers }))), { contents: { realServers } })
  test.same(problems(textOf(sourceOf({ realServers: [realServer('a', { ip: 'no host' })] }))).slice(0, 1), [
    'sections.realServers.data.realServers.0.ip INVALID',
  ])
  test.end()
})

/** Sections that older files lack are empty when they are read. */
const SINCE_THE_SEVENTH = { oidcConfigs: [] } as const
const SINCE_THE_SIXTH = { ...SINCE_THE_SEVENTH, alertTargets: [], alertRules: [] } as const
const SINCE_THE_FIFTH = { ...SINCE_THE_SIXTH, syslogServers: [] } as const
const SINCE_THE_FOURTH = { ...SINCE_THE_FIFTH, acmeAccounts: [], acmeOrders: [] } as const
const SINCE_THE_THIRD = { ...SINCE_THE_FOURTH, l7Raw: [] } as const
const SINCE_THE_SECOND = { ...SINCE_THE_THIRD, healthChecks: [], l4Frontends: [], l4Backends: [] } as const
const SINCE_THE_FIRST = {
  ...SINCE_THE_SECOND,
  certificates: [],
  cipherLists: [],
  snmpSettings: [],
  snmpUsers: [],
  radiusConfigs: [],
  radiusUsers: [],
  samlConfigs: [],
  loginPolicies: [],
} as const

/** From before groups of its provider gave roles. */
const WITHOUT_GROUPS = EVERYTHING.oidcConfigs.map((config) =>
  Object.fromEntries(Object.entries(config).filter(([name]) => !/^group|^denyUnmapped$/.test(name))),
)

t.test('every backup of format 1 that was ever written can be read', (test) => {
  const folder = new URL('../../fixtures/backups/format-1/', import.meta.url)
  const contents = Object.fromEntries(
    readdirSync(folder).map((name) => {
      const found = read(readFileSync(new URL(name, folder), 'utf8'), 'correct horse battery')
      return [name, 'problems' in found ? found.problems : found.contents]
    }),
  )
  test.match(contents, {
    'plain.json': SOME,
    'passphrase.json': SOME,
    'full.json': { ...EVERYTHING, ...SINCE_THE_FIRST },
    'sections-2.json': { ...EVERYTHING, ...SINCE_THE_SECOND },
    'sections-3.json': { ...EVERYTHING, ...SINCE_THE_THIRD },
    'sections-4.json': { ...EVERYTHING, ...SINCE_THE_FOURTH },
    'sections-5.json': { ...EVERYTHING, ...SINCE_THE_FIFTH },
    'sections-6.json': { ...EVERYTHING, ...SINCE_THE_SIXTH },
    'sections-7.json': { ...EVERYTHING, ...SINCE_THE_SEVENTH },
    'sections-8.json': { ...EVERYTHING, oidcConfigs: WITHOUT_GROUPS },
  })
  test.ok(Object.values(contents['empty.json'] ?? {}).every((records) => records.length === 0))
  test.end()
})

t.test('anything but an intact backup is refused as a whole', (test) => {
  for (const text of ['', '{', '[]', 'null', '3', '{}', '{"format":1}', '['.repeat(1_000_000)]) {
    test.same(problems(text), [' NOT_A_BACKUP'], text.slice(0, 20))
  }
  const text = textOf(sourceOf(SOME))
  test.same(problems(text.replace('web-1', 'web-3')), ['checksum CHECKSUM_MISMATCH'])
  test.same(problems(text.slice(0, -1)), [' NOT_A_BACKUP'])
  test.same(problems(JSON.stringify({ ...JSON.parse(text), format: 2 })), ['format NEWER_VERSION'])
  test.end()
})

t.test('a section of a newer version is refused by name; unknown and missing ones as well', (test) => {
  const text = changed(({ sections }) => {
    sections.rbac.version = 4
    sections.layer9 = { version: 1, data: {} }
    delete sections.gslb
  })
  test.same(problems(text), [
    'sections.layer9 SECTION_UNKNOWN',
    'sections.rbac.version NEWER_VERSION',
    'sections.gslb REQUIRED',
  ])
  test.end()
})

t.test('every record fits its schema, has its own id and name and refers to others of the file', (test) => {
  test.same(
    problems(
      changed(
        ({
          sections: {
            realServers: { data },
          },
        }) => data.realServers.push({ ...realServer('x'), port: 'http' }),
      ),
    ),
    ['sections.realServers.data.realServers.2.port INVALID'],
  )
  test.same(
    problems(
      changed(
        ({
          sections: {
            realServers: { data },
          },
        }) => data.realServers.push({ ...realServer('web-1'), name: 'x' }),
      ),
    ),
    ['sections.realServers.data.realServers.2.id ID_NOT_UNIQUE'],
  )
  test.same(
    problems(
      changed(
        ({
          sections: {
            realServers: { data },
          },
        }) => data.realServers.push(realServer('x', { name: 'WEB-1' })),
      ),
    ),
    ['realServers.x.name CONFLICT'],
  )
  test.same(
    problems(
      changed(
        ({
          sections: {
            layer7proxy: { data },
          },
        }) => data.l7Backends.push(backend('b2', ['nope'])),
      ),
    ),
    ['l7Backends.b2.reals.0.ripId CONFLICT'],
  )
  test.same(
    problems(
      changed(
        ({
          sections: {
            rbac: { data },
          },
        }) => (data.surprise = []),
      ),
    ),
    ['sections.rbac.data.surprise UNKNOWN'],
  )
  test.same(
    problems(
      changed(
        ({
          sections: {
            rbac: { data },
          },
        }) => (data.users = {}),
      ),
    ),
    ['sections.rbac.data.users TYPE'],
  )
  test.end()
})

t.test('a field with which every object could be changed is refused', (test) => {
  const text = changed((file) => (file.sections.rbac.data.users[0].extra = 1)).replace('"extra"', '"__proto__"')
  // The checksum of exactly this text.
  test.match(problems(signed(JSON.parse(text))), [/NOT_A_BACKUP/])
  const extra = (name: string) => changed((file) => (file.sections.rbac.data.users[0][name] = 1))
  for (const name of ['constructor', 'prototype'])
    test.match(problems(extra(name))[0], `sections.rbac.data.users.0.${name} INVALID`)
  test.end()
})

t.test('parameters of health checks may have the names of built-in properties', (test) => {
  const parameters = { constructor: 'a', prototype: 'b', toString: 'c' } as unknown as Record<string, string>
  const declared = Object.keys(parameters).map((name) => ({ name, type: 'string' as const }))
  const healthChecks = EVERYTHING.healthChecks?.map((check) => ({ ...check, id: 'c', parameters: declared })) ?? []
  const l7Backends = [backend('b', [], { healthCheck: { type: 'script', id: 'c', parameters } })]
  const contents = { healthChecks, l7Backends }
  test.same(problems(textOf(sourceOf(contents))), [])
  test.end()
})

t.test('at most a hundred problems are reported', (test) => {
  const text = changed(
    ({
      sections: {
        realServers: { data },
      },
    }) => (data.realServers = Array.from({ length: 500 }, () => 1)),
  )
  test.equal(problems(text).length, 100)
  test.end()
})

t.test('sealed sections are checked as far as they are readable, and completely with the passphrase', async (test) => {
  const text = textOf(sourceOf(SOME), await newSealingKey('correct horse'))
  test.match(read(text), { contents: undefined, head: { isSealed: true } })
  test.match(read(text, 'correct horse'), { contents: SOME })
  test.same(problems(text, 'wrong horse'), ['X-Backup-Passphrase PASSPHRASE_WRONG'])
  const mixed = JSON.parse(text)
  mixed.sections.realServers.data = JSON.parse(textOf(sourceOf(SOME))).sections.realServers.data
  test.same(problems(signed(mixed), 'correct horse'), ['sections NOT_A_BACKUP'])
  const costly = JSON.parse(text)
  costly.sections.rbac.data.encrypted.n = 1_048_576
  test.match(problems(signed(costly), 'correct horse'), [/sections\.rbac\.data\.encrypted/])
})

t.test('one key for the whole file: each costs a second, and memory', async (test) => {
  const text = textOf(sourceOf(SOME), await newSealingKey('correct horse'))
  for (const change of [{ salt: `${'A'.repeat(22)}==` }, { n: 131_072 }]) {
    const file = JSON.parse(text)
    Object.assign(file.sections.system.data.encrypted, change)
    test.same(problems(signed(file)), ['sections NOT_A_BACKUP'], 'so none is kept')
    test.same(problems(signed(file), 'wrong horse'), ['sections NOT_A_BACKUP'])
  }
})

t.test('after one section that the passphrase does not open, no other is tried', async (test) => {
  const file = JSON.parse(textOf(sourceOf(SOME), await newSealingKey('correct horse')))
  const { encrypted } = file.sections.rbac.data
  encrypted.text = `AAAA${encrypted.text.slice(4)}`
  let parsed = 0
  const found = readBackup(Buffer.from(signed(file)), 'correct horse', (raw) => {
    parsed += 1
    return parseLimited(raw)
  })
  test.match(found, { problems: [{ code: 'PASSPHRASE_WRONG' }] })
  test.equal(parsed, 1, 'the file itself')
})

t.test('sections of an older version are migrated, step by step', (test) => {
  const migrations = {
    1: (data: Readonly<Record<string, unknown>>) => ({ servers: data['reals'] }),
    2: (data: Readonly<Record<string, unknown>>) => {
      if (!Array.isArray(data['servers'])) throw new Error('there are no servers')
      return { realServers: data['servers'].map((name) => realServer(String(name))) }
    },
  }
  const newer = BACKUP_SECTIONS.map((section) =>
    section.name === 'realServers' ? { ...section, version: 3, migrations } : section,
  )
  const old = (data: object) => {
    const file = JSON.parse(textOf(sourceOf({})))
    file.sections.realServers = { version: 1, data }
    return signed(file)
  }
  test.match(read(old({ reals: ['a', 'b'] }), undefined, newer), {
    contents: { realServers: [realServer('a'), realServer('b')] },
  })
  test.match(read(old({ reals: 'a' }), undefined, newer), {
    problems: [{ field: 'sections.realServers.data', message: /version 1: there are no/ }],
  })
  test.end()
})
