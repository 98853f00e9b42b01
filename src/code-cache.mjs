// Preloaded (`node --import`) by the start command, in the main thread and, inherited, in every worker. A process or a
// thread begins with what `.ci/prepare.mjs` has put together of its sources, unless one of them has changed since.
// Without that, its sources are loaded one by one; this file is plain JavaScript, because no thread should have to load
// Node's TypeScript compiler then: a stripped copy of each source file, named by its content, and V8's compiled code
// are kept in a cache folder. Without a writable folder everything still runs. What is in the folder is a hint: it is
// not flushed to the disk, so a power cut may leave files that are empty, half or of zeros. Each copy ends with a hash
// of its name and its code, as Node's compiled code does; one that does not fit is made again.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { enableCompileCache, registerHooks, stripTypeScriptTypes } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const rootUrl = pathToFileURL(`${root}/`).href
const PREPARED = 'fulcrum.prepared'
// systemd names the folder it made for the unit (CacheDirectory=).
const folder = process.env.CACHE_DIRECTORY ?? join(root, 'node_modules', '.cache', 'fulcrum')

const sha256 = (...parts) => parts.reduce((hash, part) => hash.update(part), createHash('sha256')).digest('hex')
/** With its name, because one that is whole may be that of another source. */
const sealed = (name, code) => `${code}\n//${sha256(name, code)}`
const SEAL_LENGTH = sealed('', '').length

/** The code of a copy, or undefined when it is not as it was written. */
function kept(name) {
  try {
    const text = readFileSync(join(folder, name), 'utf8')
    const code = text.slice(0, -SEAL_LENGTH)
    return text === sealed(name, code) ? code : undefined
  } catch {
    // Not there yet, or nothing that can be read.
    return undefined
  }
}

function keep(name, code) {
  // Two processes that write it at the same time may spoil it: its seal tells.
  const draft = join(folder, `${name}.new`)
  try {
    writeFileSync(draft, sealed(name, code), { mode: 0o600 })
    renameSync(draft, join(folder, name))
  } catch {
    // Full or read-only: the next start strips again.
  }
}

function stripped(path) {
  const source = readFileSync(path)
  // Node would take it for a program that has nothing to do, and end with 0.
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
  // Then each start strips and compiles.
}

/**
 * What `.ci/prepare.mjs` has put together, as long as no source is another one than then. Each make has a folder of its
 * own, so a process finds all of its own make while it runs.
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
    // Nothing was put together, or one of its sources is gone.
    return { entries: [] }
  }
}

/** Threads do as their process does, whatever becomes of the sources meanwhile. */
function preparedOfProcess() {
  if (isMainThread && getEnvironmentData(PREPARED) === undefined) setEnvironmentData(PREPARED, findPrepared())
  return getEnvironmentData(PREPARED) ?? { entries: [] }
}

const isOurs = (url) => url?.startsWith(rootUrl) === true && !url.startsWith(`${rootUrl}node_modules/`)

registerHooks({
  resolve(specifier, context, next) {
    if (isOurs(context.parentURL)) {
      // Node would look at the file, its folders and their packages first, for each of a thousand imports.
      if (!specifier.startsWith('.') || !specifier.endsWith('.ts')) return next(specifier, context)
      return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true }
    }
    const found = next(specifier, context)
    if (!found.url.endsWith('.ts') || !isOurs(found.url)) return found
    // A process or a thread begins with it.
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
