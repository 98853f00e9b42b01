import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

/**
 * The import rules: the table in ARCHITECTURE.md. A room is a folder of `src` or `storage`, `workers`, or a file at the
 * root of `src`. The rows are ordered from the ground up and a row names only rows above itself, so rooms form no
 * cycle.
 */
const root = fileURLToPath(new URL('..', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')

interface Import {
  readonly from: string
  /** A file of the project, or the name of a package. */
  readonly to: string
  /** Nothing of it runs on the importing thread: types, or the first file of a thread or a process. */
  readonly isNamedOnly: boolean
}

/** Packages and modules of Node that only one room may import. */
const DOORS: readonly (readonly [imported: RegExp, by: RegExp])[] = [
  [/^lmdb$/, /^storage\//],
  [/^piscina$/, /^src\/threads\/worker-pool\.ts$/],
  [/^uWebSockets\.js$/, /^src\/http\//],
  [
    /^(node:)?child_process$/,
    /^(workers\/(host\/linux-host|detached\/program)|src\/daemon\/nodes\/(node-process|etcd-program)|src\/cli\/journal)\.ts$/,
  ],
  // Drivers are pure: only steps touch the machine. The text of a program that they install is read once.
  [
    /^(node:)?(fs|net|dgram|tls|https?|http2|worker_threads)(\/|$)/,
    /^(?!src\/drivers\/(?!keepalived\/fallback-program\.ts$))/,
  ],
  // Of single programs, the configuration knows only what every driver has, workers the parsers of answers, and
  // statistics the scanner with which live answers are copied.
  [/^src\/drivers\/[a-z0-9-]+\//, /^(?!src\/config\/)/],
  [/^src\/drivers\/[a-z0-9-]+\/(driver|render|verify|plan)/, /^(?!workers\/)/],
  [/^src\/drivers\/(?!haproxy\/stats-csv\.ts$)/, /^(?!src\/stats\/)/],
  // Sections are read through the interface of the store.
  [/^storage\/config\/lmdb/, /^(src\/(appliance|daemon)|storage)\//],
  // The host knows the interface that it implements.
  [/^storage\//, /^(?!workers\/host\/linux-host\.ts$)/],
  // No resource knows another one; the files of one folder are one resource.
  [/^src\/resources\//, /^src\/(resources\/index\.ts$|appliance\/)/],
]
/** `src` names types of workers; only the pools know their content, and a witness, which has no threads. */
const KNOW_WORKERS = /^src\/(threads\/worker-pool|machine\/witness-machine)\.ts$/

const roomOf = (file: string): string =>
  /^src\/([^/]+)/.exec(file)?.[1] ?? /^(storage\/[^/.]+)\//.exec(file)?.[1] ?? file.split('/')[0] ?? ''

/** Returns every import, including types, and the files of threads that are started. */
function importsIn(text: string, from: string): readonly Import[] {
  const found = text.matchAll(
    /(?:^(?:import|export)\s([^'"`;]*?)\bfrom|^import|\bimport\(|(\bnew URL\())\s*'([^']+)'/gm,
  )
  return [...found].flatMap(([, what = '', place, to = '']) => {
    const isNamedOnly = place !== undefined || isOfTypes(what)
    if (!to.startsWith('.')) return [{ from, to, isNamedOnly }]
    return /\.(ts|mjs)$/.test(to) ? [{ from, to: normalize(join(dirname(from), to)), isNamedOnly }] : []
  })
}

/** `type { A, B }`, `type * as A`, or names that each say so. */
function isOfTypes(what: string): boolean {
  const names = /^\{([^]*)\}\s*$/
    .exec(what)?.[1]
    ?.split(',')
    .filter((name) => name.trim() !== '')
  return /^type\s/.test(what) || names?.every((name) => /^\s*type\s/.test(name)) === true
}

/** Returns the rooms that each room may import, in the order of the table. */
function tableIn(text: string): ReadonlyMap<string, readonly string[]> {
  const rows = text.matchAll(/^\| `([^`]+)` \|.*\| ([^|]*) \|$/gm)
  return new Map([...rows].map(([, room = '', may = '']) => [room, may === 'nothing' ? [] : may.split(' ')]))
}

const files = globSync('{src,storage,workers}/**/*.{ts,mjs}', { cwd: root }).toSorted()
const imports = files.flatMap((file) => importsIn(read(file), file))
const table = tableIn(read('ARCHITECTURE.md'))

/** Returns the violations of this table by these imports. */
function problems(all: readonly Import[], rooms: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const between = all.filter(({ from, to }) => /^(src|storage|workers)\//.test(to) && roomOf(from) !== roomOf(to))
  const strangers = between.filter(({ from, to }) => rooms.get(roomOf(from))?.includes(roomOf(to)) !== true)
  const doors = all.filter(
    ({ from, to }) => !isOwnFolder(from, to) && DOORS.some(([imported, by]) => imported.test(to) && !by.test(from)),
  )
  const run = between.filter(
    ({ from, to, isNamedOnly }) => !isNamedOnly && /^src.*:workers/.test(`${from}:${to}`) && !KNOW_WORKERS.test(from),
  )
  return [...new Set([...strangers, ...doors, ...run])].map(({ from, to }) => `${from} imports ${to}`)
}

const isOwnFolder = (from: string, to: string) => dirname(from) === dirname(to) && !dirname(from).endsWith('resources')

t.test('every folder has its row, and every row its folder', async (test) => {
  test.same([...new Set(files.map(roomOf))].toSorted(), [...table.keys()].toSorted())
})

t.test('a row names only rows above itself', async (test) => {
  const rows = [...table.keys()]
  for (const [room, may] of table) {
    for (const one of may) test.ok(rows.includes(one) && rows.indexOf(one) < rows.indexOf(room), `${room}: ${one}`)
  }
})

t.test('no file imports a room that its row does not name, or a package reserved for another room', async (test) => {
  test.ok(imports.length > 2_000)
  test.same(problems(imports, table), [])
})

t.test('a row names only rooms that its room imports', async (test) => {
  for (const [room, may] of table) {
    const used = new Set(imports.filter(({ from }) => roomOf(from) === room).map(({ to }) => roomOf(to)))
    test.same(
      may.filter((one) => !used.has(one)),
      [],
      room,
    )
  }
})

t.test('violations are found', async (test) => {
  const refused = [
    ['src/model/a.ts', `import { x } from '../config/x.ts'`],
    ['src/model/a.ts', `import type { x } from '../config/x.ts'`],
    ['storage/config/a.ts', `import { x } from '../../src/base/errors.ts'`],
    ['storage/archive/a.ts', `import { x } from '../config/tables.ts'`],
    ['src/config/a.ts', `import { open as x } from 'lmdb'`],
    ['src/config/a.ts', `import { x } from '../drivers/haproxy/render.ts'`],
    ['src/config/a.ts', `export { x } from '../resources/index.ts'`],
    ['src/config/a.ts', `import { x } from '../../storage/archive/tiers.ts'`],
    ['src/drivers/haproxy/a.ts', `import { readFileSync as x } from 'node:fs'`],
    ['src/drivers/haproxy/a.ts', `import { x } from '../../config/views.ts'`],
    ['src/auth/a.ts', `import { x } from '../http/server.ts'`],
    ['src/api/a.ts', `const x = await import('../config/views.ts')`],
    ['src/resources/a.ts', `import { x } from './b.ts'`],
    ['src/resources/a.ts', `import { x } from './statistics/b.ts'`],
    ['src/resources/statistics/a.ts', `import { x } from '../roles.ts'`],
    ['src/resources/statistics/a.ts', `import { x } from '../sign-in/auth.ts'`],
    ['src/stats/a.ts', `import { x } from '../../workers/archive/poll.ts'`],
    ['src/stats/a.ts', `import { x, type Y } from '../../workers/archive/poll.ts'`],
    ['src/stats/a.ts', `import { x } from '../drivers/haproxy/parse.ts'`],
    ['src/auth/a.ts', `import { x } from '../../storage/config/lmdb-config-store.ts'`],
    ['workers/host/linux-host.ts', `import { x } from '../../storage/archive/tiers.ts'`],
    ['src/resources/a.ts', `import { x } from '../../storage/config/x.ts'`],
    ['src/http/a.ts', `import { x } from '../drivers/driver.ts'`],
    ['src/appliance/a.ts', `import { App as x } from 'uWebSockets.js'`],
    ['src/appliance/a.ts', `import { Piscina as x } from 'piscina'`],
    ['workers/a.ts', `import { x } from '../src/config/views.ts'`],
    ['workers/a.ts', `import { x } from '../storage/config/tables.ts'`],
    ['workers/a.ts', `import { x } from '../src/drivers/haproxy/plan.ts'`],
    ['workers/executor.ts', `import { spawn as x } from 'node:child_process'`],
  ] as const
  for (const [file, line] of refused) test.equal(problems(importsIn(line, file), table).length, 1, `${file}: ${line}`)
  const fine = [
    ['src/resources/statistics/a.ts', `import { x } from './b.ts'`],
    ['src/resources/index.ts', `import { x } from './roles.ts'`],
    ['src/resources/index.ts', `import { x } from './statistics/l7-stats.ts'`],
    ['src/resources/a.ts', `import { x } from '../api/endpoint.ts'`],
    ['src/stats/a.ts', `import type { x } from '../../workers/archive/poll.ts'`],
    ['src/stats/a.ts', `import { type X, type Y } from '../../workers/archive/poll.ts'`],
    ['src/stats/a.ts', `new URL('../../workers/archive.ts', import.meta.url)`],
    ['src/stats/a.ts', `import { Worker as x } from 'node:worker_threads'`],
    ['src/config/a.ts', `import { x } from '../drivers/index.ts'`],
    ['src/http/a.ts', `import { App as x } from 'uWebSockets.js'`],
    ['src/model/a.ts', `import { Type as x } from 'typebox'`],
    ['storage/config/a.ts', `import { open as x } from 'lmdb'`],
    ['src/drivers/haproxy/a.ts', `import { x } from '../../model/fields.ts'`],
    ['workers/host/linux-host.ts', `import { spawn as x } from 'node:child_process'`],
    ['src/drivers/haproxy/a.ts', `import { x } from './render.ts'`],
    ['src/threads/worker-pool.ts', `import { Piscina as x } from 'piscina'`],
    ['workers/a.ts', `import { x } from '../src/drivers/haproxy/stats-csv.ts'`],
  ] as const
  for (const [file, line] of fine) test.same(problems(importsIn(line, file), table), [], `${file}: ${line}`)
})
