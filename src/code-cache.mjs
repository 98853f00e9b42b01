// Preloaded (`node --import`) by the start command, in the main thread and, inherited, in every worker. Plain
// JavaScript, because its point is that no thread has to load Node's TypeScript compiler: a stripped copy of each
// source file, named by its content, and V8's compiled code are kept in a cache folder. Without a writable folder
// everything still runs. What is in the folder is a hint: it is not flushed to the disk, so a power cut may leave files
// that are empty, half or of zeros. Each copy ends with a hash of its name and its code, as Node's compiled code does;
// one that does not fit is made again.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { enableCompileCache, registerHooks, stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
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
  // Two who write it at the same time may spoil it: its seal tells.
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
registerHooks({
  load(url, context, next) {
    if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context)
    const path = fileURLToPath(url)
    if (!path.startsWith(root) || path.includes('node_modules')) return next(url, context)
    return { format: 'module', source: stripped(path), shortCircuit: true }
  },
})
