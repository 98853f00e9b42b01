// Preloaded into each process of `.ci/test.mjs`: a tap that does not watch every promise, which was a tenth of what the
// tests compute.
import { registerHooks } from 'node:module'

const url = new URL('error-domain.mjs', import.meta.url).href
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'async-hook-domain' ? { url, shortCircuit: true } : next(specifier, context),
})
