// What tap takes from async-hook-domain: whose test an error is that nobody catches. That package hears of the end of
// every promise, for which V8 watches each of them; here a test is what its asynchronous work inherits. The rules are
// its own: who listens for uncaught errors is asked first, and a test that is over hands on to the one around it.
import { AsyncLocalStorage } from 'node:async_hooks'

const current = new AsyncLocalStorage()

function living(domain) {
  let found = domain
  while (found?.isOver) found = found.parent
  return found
}

/** Whether a test has taken it. */
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
    // It is dealt with: without a callback for this once, Node would end the process now.
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
