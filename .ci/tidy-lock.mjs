// Makes package-lock.json the same for every host Node: run after each dependency change (`npm run lock`).
// npm skips optional packages by the host's `engines`, and refuses optional names without an entry (npm/cli#9846).
import { readFileSync, writeFileSync } from 'node:fs'

const file = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(file, 'utf8'))
for (const [path, entry] of Object.entries(lock.packages)) {
  if (path === '') continue
  delete entry.engines
  for (const name of Object.keys(entry.optionalDependencies ?? {})) {
    const found = Object.keys(lock.packages).some((key) => key.endsWith(`node_modules/${name}`))
    if (!found) delete entry.optionalDependencies[name]
  }
}
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
