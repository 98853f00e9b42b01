// Runs the test files that it is given in one process, each as a subtest by its name. What a process costs before its
// first assertion (Node, tap, the modules under test) is more than most of these files need for all of theirs.
// A file imports `t` from tap as ever, and gets its own subtest: hooks, plans and teardowns stay within the file.
import { registerHooks } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SCHEME = 'tap-of:'
const subtests = new Map()
globalThis[Symbol.for('fulcrum.subtests')] = subtests

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'tap' || !subtests.has(context.parentURL)) return next(specifier, context)
    return { url: `${SCHEME}${context.parentURL}`, shortCircuit: true }
  },
  load(url, context, next) {
    if (!url.startsWith(SCHEME)) return next(url, context)
    const key = JSON.stringify(url.slice(SCHEME.length))
    const source = `export default globalThis[Symbol.for('fulcrum.subtests')].get(${key})`
    return { format: 'module', source, shortCircuit: true }
  },
})

const files = process.argv.slice(2)
/** For teardowns of a file that ran out of time. */
const GRACE_S = 30
// The limit is each file's. tap reads that of the process while it loads.
const timeout_s = Number(process.env.TAP_TIMEOUT ?? 30)
process.env.TAP_TIMEOUT = `${timeout_s * files.length}`
const { default: t } = await import('tap')
for (const file of files) {
  const { href } = pathToFileURL(`${ROOT}${file}`)
  // tap waits for teardowns of a test that ran out of time for as long as they like.
  const limit = setTimeout(
    () => leave(`${file} is out of time, and so are its teardowns`),
    (timeout_s + GRACE_S) * 1000,
  )
  await t.test(file, { timeout: timeout_s * 1000 }, async (subtest) => {
    subtests.set(href, subtest)
    await import(href)
  })
  clearTimeout(limit)
}

// What a test left open, or one that ran out of time, would keep the process for ever.
setTimeout(() => leave('the tests are over, and this keeps their process'), 60_000).unref()

function leave(why) {
  process.stdout.write(`# ${why}: ${process.getActiveResourcesInfo().join(', ')}\n`)
  process.exit(1)
}
