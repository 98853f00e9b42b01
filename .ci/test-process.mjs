// Preloaded into `.ci/test.mjs` and each process of it: tap without what the tests would pay for, and never use.
import { registerHooks } from 'node:module'

const INSTEAD = {
  // It watches every promise, which was a tenth of what the tests compute.
  'async-hook-domain': 'error-domain.mjs',
  // It collects coverage in each process below, daemons among them, by a thread of module hooks for each of theirs.
  '@tapjs/processinfo': 'plain-spawn.mjs',
}

registerHooks({
  resolve(specifier, context, next) {
    const file = INSTEAD[specifier]
    return file === undefined
      ? next(specifier, context)
      : { url: new URL(file, import.meta.url).href, shortCircuit: true }
  },
})
