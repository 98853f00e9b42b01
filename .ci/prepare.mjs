// Bundles the sources of the daemon and its threads, one file for each entry point and files for shared code, because a
// thread spends most of its start on finding and linking some thousand small files (docs/decisions/07-code-cache.md).
// `npm start`, the tests and the package make the bundles if they are missing; src/code-cache.mjs runs them until a
// source changes.
import { createHash } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FOLDER = 'node_modules/.prepared'
const MAKES_MAX = 32
/** Entry points of processes and threads. */
const ENTRIES = [
  'src/main.ts',
  'src/cli/fulcrum.ts',
  'src/http/front-thread.ts',
  ...['archive', 'compute', 'demo', 'detached', 'exposition', 'intake', 'probe', 'restore-network', 'system'].map(
    (name) => `workers/${name}.ts`,
  ),
]
/**
 * Bundled packages, which consist of many small files. Other packages stay separate: native ones, those of one file,
 * those rarely loaded.
 */
const INCLUDED = new Set(['typebox', '@peculiar/x509', 'reflect-metadata', 'commander', 'fast-jwt', 'diff'])

/** Resolves files that a source names by its own URL beside the source, not beside the bundle. */
const besideItsSource = {
  name: 'files beside their source',
  setup: (build) =>
    build.onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, 'utf8')
      const from = JSON.stringify(relative(join(ROOT, FOLDER, 'make'), path))
      return { loader: 'ts', contents: text.replaceAll('import.meta.url', `new URL(${from}, import.meta.url).href`) }
    }),
}

async function bundle() {
  const { build } = await import('esbuild')
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const external = Object.keys(dependencies).filter((name) => !INCLUDED.has(name))
  return build({
    absWorkingDir: ROOT,
    entryPoints: ENTRIES,
    outdir: FOLDER,
    entryNames: '[name]',
    chunkNames: 'shared-[hash]',
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    mainFields: ['module', 'main'],
    format: 'esm',
    target: 'node22',
    external,
    // Packages in the older module format get Node's modules through `require`.
    banner: { js: 'const require = process.getBuiltinModule;' },
    plugins: [besideItsSource],
    metafile: true,
    write: false,
    logLevel: 'error',
  })
}

function writeDurably(file, bytes) {
  const fd = openSync(file, 'w', 0o644)
  try {
    writeSync(fd, bytes)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Keeps recent makes: a running daemon goes on reading its own with each thread that it starts. */
function removeOldMakes(folder) {
  const makes = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const ages = makes.map(({ name }) => [statSync(join(folder, name)).mtimeMs, join(folder, name)])
  for (const [, make] of ages.toSorted(([a], [b]) => b - a).slice(MAKES_MAX)) rmSync(make, { recursive: true })
}

/** `isSealed`: the sources at the target never change, so nothing compares them. */
export async function prepare(target = ROOT, { isSealed = false } = {}) {
  const { outputFiles, metafile } = await bundle()
  const files = Object.keys(metafile.inputs).filter((path) => !path.startsWith('node_modules/'))
  const inputs = ['package-lock.json', ...files].map((path) => {
    const { size, mtimeMs } = statSync(join(ROOT, path))
    return [path, size, mtimeMs]
  })
  const hash = createHash('sha256')
  for (const { path, contents } of outputFiles) hash.update(basename(path)).update(contents)
  const make = hash.digest('hex').slice(0, 16)
  const folder = join(target, FOLDER)
  mkdirSync(join(folder, make), { recursive: true })
  for (const { path, contents } of outputFiles) writeDurably(join(folder, make, basename(path)), contents)
  const draft = join(folder, `manifest.${process.pid}`)
  writeDurably(draft, Buffer.from(JSON.stringify({ make, entries: ENTRIES, inputs: isSealed ? [] : inputs })))
  renameSync(draft, join(folder, 'manifest.json'))
  removeOldMakes(folder)
}

/** Returns whether the bundles were made from the current sources. */
export function isPrepared() {
  try {
    const { inputs } = JSON.parse(readFileSync(join(ROOT, FOLDER, 'manifest.json'), 'utf8'))
    return inputs.every(([path, size, mtimeMs]) => {
      const now = statSync(join(ROOT, path))
      return now.size === size && now.mtimeMs === mtimeMs
    })
  } catch {
    return false
  }
}
