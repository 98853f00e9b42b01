// The start command preloads this file (`node --import`) in the main thread; every worker inherits it. A process or
// thread starts from the bundle that `.ci/prepare.mjs` made of its sources, unless one of them has changed since.
// Otherwise its sources are loaded one by one. This file is plain JavaScript because no thread should then have to load
// Node's TypeScript compiler: a stripped copy of each source file, named by its content, and V8's compiled code are
// kept in a cache folder. Without a writable folder everything still runs. Files in the folder are hints: they are not
// flushed to the disk, so a power cut may leave them empty, truncated or full of zeros. Each copy ends with a hash of
// its name and code, as does Node's compiled code; a copy with a wrong hash is made again.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { enableCompileCache, registerHooks, stripTypeScriptTypes } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const rootUrl = pathToFileURL(`${root}/`).href
const PREPARED = 'fulcrum.prepared'
// systemd passes the folder that it made for the unit (CacheDirectory=).
const folder = process.env.CACHE_DIRECTORY ?? join(root, 'node_modules', '.cache', 'fulcrum')

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex')
/** Includes the name, because an undamaged copy may be that of another source. */
const sealed = (name, code) => `${code}\n//${sha256(name, code)}`
const SEAL_LENGTH = sealed('', '').length

/** Returns the code of a copy, or undefined if the copy is damaged. */
function kept(name) {
  try {
    const text = readFileSync(join(folder, name), 'utf8')
    const code = text.slice(0, -SEAL_LENGTH)
    return text === sealed(name, code) ? code : undefined
  } catch {
    // The copy does not exist or cannot be read.
    return undefined
  }
}

function keep(name, code) {
  // Two processes that write this file at the same time may damage it; its hash then shows that.
  const draft = join(folder, `${name}.new`)
  try {
    writeFileSync(draft, sealed(name, code), { mode: 0o600 })
    renameSync(draft, join(folder, name))
  } catch {
    // The disk is full or read-only: the next start strips the source again.
  }
}

function stripped(path) {
  const source = readFileSync(path)
  // Node would take an empty file for a program with nothing to do, and exit with 0.
  if (source.length === 0) throw new Error(`${path} is empty: install Fulcrum again`)
  const name = `${sha256(process.version, source)}.mjs`
  let code = kept(name)
  if (code === undefined) {
    code = stripTypeScriptTypes(source.toString())
    keep(name, code)
  }
  return code
}

try {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  enableCompileCache(folder)
} catch {
  // Without the folder, each start strips and compiles again.
}

/**
 * Finds the bundles of `.ci/prepare.mjs`, unless a source has changed since. Each make has a folder of its own, so a
 * running process always finds the files of its own make.
 */
function findPrepared() {
  if (process.env.FULCRUM_SOURCES !== undefined) return { entries: [] }
  try {
    const makes = join(root, 'node_modules', '.prepared')
    const { make, entries, inputs } = JSON.parse(readFileSync(join(makes, 'manifest.json'), 'utf8'))
    const isSame = inputs.every(([path, size, mtimeMs]) => {
      const now = statSync(join(root, path))
      return now.size === size && now.mtimeMs === mtimeMs
    })
    return { url: pathToFileURL(join(makes, make, '/')).href, entries: isSame ? entries : [] }
  } catch {
    // No bundles were made, or one of their sources is gone.
    return { entries: [] }
  }
}

/** Threads do the same as their process, whatever happens to the sources meanwhile. */
function preparedOfProcess() {
  if (isMainThread && getEnvironmentData(PREPARED) === undefined) setEnvironmentData(PREPARED, findPrepared())
  return getEnvironmentData(PREPARED) ?? { entries: [] }
}

const isOurs = (url) => url?.startsWith(rootUrl) === true && !url.startsWith(`${rootUrl}node_modules/`)

registerHooks({
  resolve(specifier, context, next) {
    if (isOurs(context.parentURL)) {
      // Node would first look at the file, its folders and their packages, for each of a thousand imports.
      if (!specifier.startsWith('.') || !specifier.endsWith('.ts')) return next(specifier, context)
      return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true }
    }
    const found = next(specifier, context)
    if (!found.url.endsWith('.ts') || !isOurs(found.url)) return found
    // The entry point of a process or thread.
    const entry = found.url.slice(rootUrl.length)
    const { url, entries } = preparedOfProcess()
    if (!entries.includes(entry)) return found
    return { url: `${url}${basename(entry, '.ts')}.mjs`, format: 'module', shortCircuit: true }
  },
  load(url, context, next) {
    if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context)
    const path = fileURLToPath(url)
    if (!path.startsWith(root) || path.includes('node_modules')) return next(url, context)
    return { format: 'module', source: stripped(path), shortCircuit: true }
  },
})
