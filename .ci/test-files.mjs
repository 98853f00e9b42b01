// Runs the test files that its parent names, one after another, and sends it what each has to say as TAP. What a
// process costs before its first assertion (Node, tap, the modules under test) is more than most files need for all of
// theirs, and what one has compiled serves the next.
// A file imports `t` from tap as ever, and gets a test of its own: hooks, plans and teardowns stay within the file.
import { registerHooks } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import t, { Test } from 'tap'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SCHEME = 'tap-of:'
/** For teardowns of a file that ran out of time, which tap waits for as long as they like. */
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
// Each file has a limit of its own.
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
  // tap does so for tests within others; else this one would be out of time in the middle of another file.
  test.setTimeout(0)
  process.send({ ended: { rss: process.memoryUsage.rss() } })
}

process.on('message', ({ file }) => void runFile(file))
// Its parent may be letting go of it at this moment: without a callback the broken pipe would end it as an error.
const alive = setInterval(() => process.send({}, () => undefined), 60_000).unref()
// What a test left open, or one that ran out of time, would keep the process for ever.
process.on('disconnect', () => {
  clearInterval(alive)
  setTimeout(() => leave('the tests are over, and this keeps their process'), 60_000).unref()
})

function leave(why) {
  process.stderr.write(`fulcrum: ${why}: ${process.getActiveResourcesInfo().join(', ')}\n`)
  process.exit(1)
}
