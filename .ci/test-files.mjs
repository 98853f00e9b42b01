// Runs the test files that its parent names, one after another, and sends each file's TAP to the parent. The start of a
// process (Node, tap, the modules under test) costs more than all assertions of most files, and code compiled for one
// file serves the next. A file imports `t` from tap as usual, and gets a test of its own: hooks, plans and teardowns
// stay within the file.
import { registerHooks } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t, { Test } from 'tap'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SCHEME = 'tap-of:'
/** Time for the teardowns of a file that ran out of time; tap itself would wait for them without limit. */
const GRACE_S = 30
const tests = new Map()
globalThis[Symbol.for('fulcrum.tests')] = tests

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'tap' || !tests.has(context.parentURL)) return next(specifier, context)
    return { url: `${SCHEME}${context.parentURL}`, shortCircuit: true }
  },
  load(url, context, next) {
    if (!url.startsWith(SCHEME)) return next(url, context)
    const key = JSON.stringify(url.slice(SCHEME.length))
    const source = `export default globalThis[Symbol.for('fulcrum.tests')].get(${key})`
    return { format: 'module', source, shortCircuit: true }
  },
})

const timeout_s = Number(process.env.TAP_TIMEOUT)
// Each file has a time limit of its own.
t.setTimeout(0)

async function runFile(file) {
  const { href } = pathToFileURL(`${ROOT}${file}`)
  const test = new Test({
    name: file,
    timeout: timeout_s * 1000,
    cb: async (own) => {
      tests.set(href, own)
      await import(href)
    },
  })
  test.on('data', (tap) => process.send({ tap }))
  let grace
  test.on('timeout', () => {
    grace = setTimeout(() => leave(`${file} is out of time, and so are its teardowns`), GRACE_S * 1000)
  })
  await new Promise((resolve) => test.runMain(resolve))
  clearTimeout(grace)
  // tap does this for nested tests only; otherwise this test would time out in the middle of another file.
  test.setTimeout(0)
  process.send({ ended: { rss: process.memoryUsage.rss() } })
}

process.on('message', ({ file }) => void runFile(file))
// The parent may be disconnecting at this moment: without a callback, the broken pipe would be an error that ends this
// process.
const alive = setInterval(() => process.send({}, () => undefined), 60_000).unref()
// Whatever a test left open, or a test that ran out of time, would keep the process alive for ever.
process.on('disconnect', () => {
  clearInterval(alive)
  setTimeout(() => leave('the tests are over, and this keeps their process'), 60_000).unref()
})

function leave(why) {
  process.stderr.write(`fulcrum: ${why}: ${process.getActiveResourcesInfo().join(', ')}\n`)
  process.exit(1)
}
