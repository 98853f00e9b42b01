// Preloaded into `.ci/test.mjs` and each of its processes: replaces parts of tap that cost time and that the tests
// never use.
import { registerHooks } from 'node:module'

const INSTEAD = {
  // The original watches every promise, which took a tenth of the tests' processor time.
  'async-hook-domain': 'error-domain.mjs',
  // The original collects coverage in each child process, daemons among them, with a thread of module hooks in each.
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
