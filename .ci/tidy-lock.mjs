// Makes the lock files the same for every host Node: run this after each dependency change (`npm run lock`). npm skips
// optional packages by the host's `engines`, and refuses optional names without an entry (npm/cli#9846). URLs are
// removed as well: npm uses the configured registry, and `integrity` identifies the content. With --check it changes
// nothing, and fails if a file is not tidy.
import { readFileSync, writeFileSync } from 'node:fs'

for (const name of ['package-lock.json', '.ci/clients/package-lock.json']) {
  const file = new URL(`../${name}`, import.meta.url)
  const before = readFileSync(file, 'utf8')
  const lock = JSON.parse(before)
  const paths = Object.keys(lock.packages)
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path === '') continue
    delete entry.engines
    delete entry.resolved
    for (const optional of Object.keys(entry.optionalDependencies ?? {})) {
      const isLocked = paths.some((key) => key.endsWith(`node_modules/${optional}`))
      if (!isLocked) delete entry.optionalDependencies[optional]
    }
  }
  const after = `${JSON.stringify(lock, null, 2)}\n`
  if (after !== before && process.argv.includes('--check')) {
    console.error(`${name} is not tidy: npm run lock`)
    process.exitCode = 1
  } else if (after !== before) {
    writeFileSync(file, after)
  }
}
