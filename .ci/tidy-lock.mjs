// Makes package-lock.json the same for every host Node: run after each dependency change (`npm run lock`). npm skips
// optional packages by the host's `engines`, and refuses optional names without an entry (npm/cli#9846). Addresses go
// as well: npm takes packages from the registry that is configured, and `integrity` says which bytes they are. With
// --check it changes nothing and fails when there is something to tidy.
import { readFileSync, writeFileSync } from 'node:fs'

const file = new URL('../package-lock.json', import.meta.url)
const before = readFileSync(file, 'utf8')
const lock = JSON.parse(before)
const paths = Object.keys(lock.packages)
for (const [path, entry] of Object.entries(lock.packages)) {
  if (path === '') continue
  delete entry.engines
  delete entry.resolved
  for (const name of Object.keys(entry.optionalDependencies ?? {})) {
    const isLocked = paths.some((key) => key.endsWith(`node_modules/${name}`))
    if (!isLocked) delete entry.optionalDependencies[name]
  }
}
const after = `${JSON.stringify(lock, null, 2)}\n`
if (after !== before && process.argv.includes('--check')) {
  console.error('package-lock.json is not tidy: npm run lock')
  process.exitCode = 1
} else if (after !== before) {
  writeFileSync(file, after)
}
