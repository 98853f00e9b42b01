// Replaces async-hook-domain in tap, which decides which test an uncaught error belongs to. That package hooks the end
// of every promise, so V8 has to track each of them; here asynchronous work inherits its test. The rules are the same:
// listeners for uncaught errors come first, and a test that has ended passes the error on to the enclosing test.
import { AsyncLocalStorage } from 'node:async_hooks'

const current = new AsyncLocalStorage()

function living(domain) {
  let found = domain
  while (found?.isOver) found = found.parent
  return found
}

/** Passes the error to its test; returns whether a test took it. */
function given(error, event) {
  if (process.hasUncaughtExceptionCaptureCallback() || process.listenerCount('uncaughtException') > 0) return false
  const domain = living(current.getStore())
  if (domain === undefined) return false
  try {
    domain.onerror(error, event)
  } catch (thrown) {
    domain.destroy()
    if (!given(thrown)) throw thrown
  }
  return true
}

function watch() {
  process.on('uncaughtExceptionMonitor', (error, event) => {
    if (!given(error, event)) return
    // The error is handled; without a capture callback for this one error, Node would now exit.
    process.setUncaughtExceptionCaptureCallback(() => process.setUncaughtExceptionCaptureCallback(null))
  })
  const emit = process.emit.bind(process)
  process.emit = (event, ...rest) => {
    if (event !== 'unhandledRejection' || process.listenerCount('unhandledRejection') > 0) return emit(event, ...rest)
    return given(rest[0], 'unhandledRejection')
  }
}

let isWatching = false

export class Domain {
  isOver = false

  constructor(onerror) {
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- tap calls it by this name, too
    this.onerror = onerror
    this.parent = current.getStore()
    if (!isWatching) watch()
    isWatching = true
    current.enterWith(this)
  }

  destroy() {
    this.isOver = true
  }
}
