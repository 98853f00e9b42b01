// Preloaded (`node --import`) by the start command, in the main thread and, inherited, in every worker. Plain JavaScript,
// because its point is that no thread has to load Node's TypeScript compiler: a stripped copy of each source file, named
// by its content, and V8's compiled code are kept in a cache folder. Without a writable folder everything still runs.
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { enableCompileCache, registerHooks, stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
// systemd names the folder it made for the unit (CacheDirectory=).
const folder = process.env.CACHE_DIRECTORY ?? join(root, 'node_modules', '.cache', 'fulcrum')

function prepared() {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    enableCompileCache(folder)
    return true
  } catch {
    return false
  }
}

function stripped(source) {
  const file = join(folder, `${createHash('sha256').update(process.version).update(source).digest('hex')}.mjs`)
  try {
    return readFileSync(file, 'utf8')
  } catch {
    const code = stripTypeScriptTypes(source.toString())
    try {
      const draft = `${file}.${process.pid}`
      writeFileSync(draft, code, { mode: 0o600 })
      renameSync(draft, file)
    } catch {
      // Full or read-only: the next start strips again.
    }
    return code
  }
}

if (prepared()) {
  registerHooks({
    load(url, context, next) {
      if (!url.startsWith('file:') || !url.endsWith('.ts')) return next(url, context)
      const path = fileURLToPath(url)
      if (!path.startsWith(root) || path.includes('node_modules')) return next(url, context)
      return { format: 'module', source: stripped(readFileSync(path)), shortCircuit: true }
    },
  })
}
