import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import t from 'tap'
import { applianceFixture, type Caller, type Received } from '../fixtures/appliance.ts'
import { EVERYTHING, signed, sourceOf, textOf, TWO_NODES } from '../fixtures/backup.ts'

/** Hostile files: none changes anything, none makes the daemon fail. A failure names the number of its file. */
const RUNS = Number(process.env['FULCRUM_TEST_BACKUP_FILES'] ?? 400)
const SEED = Number(process.env['FULCRUM_TEST_BACKUP_SEED'] ?? 1)

/** mulberry32. */
function random(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

type Random = () => number
const pick = <T>(list: readonly T[], next: Random): T => list[Math.floor(next() * list.length)] as T

interface Place {
  readonly owner: object
  readonly name: string
  readonly value: unknown
}

/** Every value in a file, except those of the licence, which are for people only. */
function placesIn(owner: object, found: Place[] = []): readonly Place[] {
  for (const [name, value] of Object.entries(owner)) {
    if (name === 'licence' || name === 'checksum') continue
    found.push({ owner, name, value })
    if (typeof value === 'object' && value !== null) placesIn(value, found)
  }
  return found
}

const put = ({ owner, name }: Place, value: unknown) => {
  Object.defineProperty(owner, name, { value, enumerable: true, configurable: true, writable: true })
}
const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function otherType(value: unknown, next: Random): unknown {
  if (typeof value === 'string') return pick([7, true, ['x'], { x: 1 }], next)
  if (typeof value === 'number') return pick(['7', true, [7], { x: 7 }, 0.5], next)
  if (typeof value === 'boolean') return pick([0, 'true', [], {}], next)
  // Where null is allowed, a number or a text often is, too.
  if (value === null) return pick([true, ['x'], { x: 1 }], next)
  if (Array.isArray(value)) return pick([7, 'x', true, {}], next)
  return pick([7, 'x', true, []], next)
}

const base = () => JSON.parse(textOf(sourceOf(EVERYTHING, { nodes: TWO_NODES })))
const TEXT = textOf(sourceOf(EVERYTHING, { nodes: TWO_NODES }))

/** A file with a change, and a correct checksum. */
function changed(change: (places: readonly Place[], file: ReturnType<typeof base>) => void): string {
  const file = base()
  change(placesIn(file), file)
  return signed(file)
}

const of = (places: readonly Place[], wanted: (place: Place) => boolean, next: Random) =>
  pick(places.filter(wanted), next)

/**
 * Optional fields. Of a health check: the value of its parameter, its default, all values. Of alerts: a key, a
 * template, a name. Of OpenID Connect: groups, which backups of earlier versions lack. Of the user interface: the state
 * in which sshd was found.
 */
const MAY_GO: ReadonlySet<string> = new Set(
  'max default parameters secret template names groupsClaim groupMappings denyUnmapped sshEnabled sshPort'.split(' '),
)

/** The script that a check names is checked with the whole configuration, when it is applied. */
const isScriptOf = (owner: object, name: string): boolean => name === 'id' && 'parameters' in owner && 'type' in owner

const MUTATIONS: Readonly<Record<string, (next: Random) => string | Uint8Array>> = {
  flipped(next) {
    const bytes = Buffer.from(TEXT)
    const at = Math.floor(next() * bytes.length)
    bytes[at] = (bytes[at] ?? 0) ^ (1 << Math.floor(next() * 8))
    return bytes
  },
  truncated: (next) => TEXT.slice(0, Math.floor(next() * TEXT.length)),
  doubled: (next) => TEXT + TEXT.slice(Math.floor(next() * TEXT.length)),
  swapped: (next) =>
    changed((places) => {
      const place = pick(places, next)
      put(place, otherType(place.value, next))
    }),
  removed: (next) =>
    changed((places) => {
      // A record or a list entry may be missing; a field may not, except where a script has a default.
      const place = of(
        places,
        ({ owner, name }) => !Array.isArray(owner) && !MAY_GO.has(name) && !isScriptOf(owner, name),
        next,
      )
      Reflect.deleteProperty(place.owner, place.name)
    }),
  huge: (next) =>
    changed((places) =>
      put(
        of(places, ({ value }) => typeof value === 'number', next),
        pick([1e300, -1, -1e300, 2 ** 53, Number.MAX_VALUE], next),
      ),
    ),
  deep(next) {
    const depth = pick([65, 1000, 1_000_000], next)
    const nested = pick(
      [() => '['.repeat(depth) + ']'.repeat(depth), () => '{"a":'.repeat(depth) + '1' + '}'.repeat(depth)],
      next,
    )()
    return TEXT.replace('"data":{}', `"data":${nested}`)
  },
  special: (next) =>
    changed((places) => {
      const { value } = of(places, (place) => isObject(place.value), next)
      put(
        { owner: Object(value), name: pick(['__proto__', 'constructor', 'prototype'], next), value },
        { isAdmin: true },
      )
    }),
  unknown: (next) =>
    changed((places) => {
      const { value } = of(places, (place) => isObject(place.value), next)
      put({ owner: Object(value), name: pick(['surprise', 'toString', '', '../x', 'id2'], next), value }, 1)
    }),
  long: (next) =>
    changed((places) =>
      put(
        of(places, ({ name }) => ['name', 'ip', 'id', 'groupId'].includes(name), next),
        'x'.repeat(100_000),
      ),
    ),
  control: (next) =>
    changed((places) =>
      put(
        of(places, ({ name }) => ['name', 'ip', 'id'].includes(name), next),
        'a\n  bind :1\u0000',
      ),
    ),
  newer: (next) =>
    changed((places) =>
      put(
        of(places, ({ name }) => name === 'version' || name === 'format', next),
        4 + Math.floor(next() * 9),
      ),
    ),
  renamed: (next) =>
    changed((_, file) => {
      const name = pick(Object.keys(file.sections), next)
      file.sections[pick(['', 'layer9', '../rbac', 'RBAC'], next)] = file.sections[name]
      delete file.sections[name]
    }),
  twice: (next) =>
    changed((places) => {
      const { value } = of(
        places,
        (place) => Array.isArray(place.value) && isObject(place.value[0]) && 'id' in place.value[0],
        next,
      )
      if (Array.isArray(value)) value.push(value[0])
    }),
  dangling: (next) =>
    changed((places) =>
      put(
        of(places, ({ name }) => ['ripId', 'groupId', 'defaultBackendId'].includes(name), next),
        'nobody',
      ),
    ),
}

const FILE_TRICKS = [
  '../../config/data.mdb',
  '/etc/passwd',
  '..',
  '.',
  './x',
  'x\u0000.json',
  '%2e%2e%2fconfig',
  'a/../b-20260101-000000.json',
  'lb-20260101-000000.json/',
  '..\\x',
  '.unfinished-1',
  'lb-20260101-000000.json\n',
  `${'a'.repeat(120)}.json`,
  'ｌb-20260101-000000.json',
  'link-20260101-000000.json',
]

/** Returns every table of the store as bytes, except `meta`, where each request stores the head of the audit chain. */
async function snapshot(folder: string): Promise<string> {
  const root = open({ path: folder, encoding: 'json', maxDbs: 16, readOnly: true })
  const tables = ['running', 'candidate', 'revisions', 'transactions', 'jobs', 'sessions']
  const all = tables.map((name) => [
    name,
    [...root.openDB({ name, encoding: 'binary' }).getRange()].map(({ key, value }) => [key, String(value)]),
  ])
  await root.close()
  return JSON.stringify(all)
}

/** Offers a file as it would arrive: in an upload, or among the files. */
async function offered(call: Caller, uploads: string, content: string | Uint8Array, next: Random): Promise<Received> {
  if (typeof content === 'string' && next() < 0.5) {
    return call('POST', '/backup/upload', { body: { backup: content === '' ? ' ' : content } })
  }
  const file = 'lb-20260101-000000.json'
  writeFileSync(join(uploads, file), content)
  const body =
    next() < 0.5 ? { file, nodeId: 'node-1' } : { file, sections: ['rbac', 'layer7proxy', 'realServers', 'fip'] }
  const answer = await call('POST', '/backup/restore', { body })
  rmSync(join(uploads, file))
  return answer
}

t.test(`${RUNS} mutated files are refused and change nothing`, { timeout: 1_200_000 }, async (test) => {
  const { call, state, machine } = await applianceFixture(test)
  const uploads = join(state, 'backups', 'uploads')
  mkdirSync(uploads, { recursive: true })
  await call('POST', '/ipvsDirector/rips', { body: { name: 'kept', ip: '192.0.2.1' } })
  await call('PUT', '/services/apply')
  // Notes about the apply are on the disk a moment later.
  await call('GET', '/backup/list')
  await new Promise((resolve) => setTimeout(resolve, 300))
  const before = await snapshot(join(state, 'config'))
  machine.host.takeJournal()
  const next = random(SEED)
  const names = Object.keys(MUTATIONS)
  const wrong: string[] = []
  const counts = new Map<string, number>()
  for (let run = 0; run < RUNS; run += 1) {
    const name = names[run % names.length] ?? ''
    const content = MUTATIONS[name]?.(next) ?? ''
    const { status, text, json } = await offered(call, uploads, content, next)
    counts.set(json.errors?.[0]?.code ?? json.code, (counts.get(json.errors?.[0]?.code ?? json.code) ?? 0) + 1)
    if (status !== 422 || json.errors.length === 0)
      wrong.push(`${run} ${name}: ${status} ${text.slice(0, 300)} ${String(content).slice(0, 80)}`)
  }
  test.comment(JSON.stringify(Object.fromEntries(counts)))
  test.same(wrong, [])
  symlinkSync('/etc/passwd', join(uploads, 'link-20260101-000000.json'))
  for (const file of FILE_TRICKS) {
    const answer = await call('POST', '/backup/restore', { body: { file } })
    test.match(answer.json, { code: 'NOT_FOUND' }, JSON.stringify(file))
    const removed = await call('DELETE', `/backup/${encodeURIComponent(file)}`)
    if (!file.startsWith('link'))
      test.match(
        removed.json,
        { code: /NOT_FOUND|UNKNOWN_ENDPOINT|MALFORMED_REQUEST/ },
        `DELETE ${JSON.stringify(file)}`,
      )
  }
  test.equal(readFileSync('/etc/passwd', 'utf8').length > 0, true)
  test.same(
    readdirSync(uploads).filter((name) => name !== '.heads.json'),
    [],
  )
  test.equal((await call('GET', '/services/pending')).json.data.count, 0)
  test.equal(await snapshot(join(state, 'config')), before, 'the store is unchanged')
  test.same(machine.host.journal, [])
  test.equal(Reflect.get({}, 'isAdmin'), undefined, 'no prototype was changed')
  test.equal((await call('GET', '/ping')).status, 200)
})
