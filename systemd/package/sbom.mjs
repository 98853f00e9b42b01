// `npm run sbom [-- FILE]`: writes the packages that run on an appliance, without Debian's own, as CycloneDX 1.5. The
// result is the same for the same lock.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..')
// `--omit dev` would also leave out packages that run on an appliance if tests name them as well.
const WORDS = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']

/** Returns the packages that the lock does not mark as being for development only. */
function ofProduction() {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { name, version }]) => ({ name: name ?? path.split('node_modules/').at(-1), version }))
}

/** `shipped` are the packages that are installed; without it, all production packages of the lock for any machine. */
export function sbom({ version, time_s, shipped }) {
  const said = execFileSync('npm', WORDS, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 2 ** 26,
  })
  const bill = JSON.parse(said)
  const own = bill.metadata.component
  const names = new Set((shipped ?? ofProduction()).map((each) => `${each.name}@${each.version}`))
  const isShipped = (reference) => reference === own['bom-ref'] || names.has(reference)
  // npm takes the name from the folder, which differs between machines.
  const component = { ...own, type: 'application', name: 'fulcrum', version }
  // If the lock has a package under an alias, its real name is in the reference.
  const components = bill.components.filter(
    (each) => isShipped(`${each.name}@${each.version}`) || isShipped(each['bom-ref']),
  )
  if (new Set(components.map((each) => each['bom-ref'])).size < names.size)
    throw new Error('the bill of materials leaves packages out')
  const references = new Set([own['bom-ref'], ...components.map((each) => each['bom-ref'])])
  const dependencies = bill.dependencies
    .filter(({ ref }) => references.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => references.has(each)) }))
  const timestamp = new Date(time_s * 1000).toISOString()
  const lasting = { ...bill, metadata: { ...bill.metadata, timestamp, tools: [], component }, components, dependencies }
  delete lasting.serialNumber
  const sum = createHash('sha256').update(JSON.stringify(lasting)).digest('hex')
  // A UUID (RFC 9562, version 8) derived from the content instead of a random one.
  const serialNumber = `urn:uuid:${sum.slice(0, 8)}-${sum.slice(8, 12)}-8${sum.slice(13, 16)}-8${sum.slice(17, 20)}-${sum.slice(20, 32)}`
  return `${JSON.stringify({ ...lasting, serialNumber }, null, 2)}\n`
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const time = execFileSync('git', ['-C', ROOT, 'log', '-1', '--format=%ct'], { encoding: 'utf8' })
  const text = sbom({ version, time_s: Number(time) })
  if (argv[2] === undefined) process.stdout.write(text)
  else writeFileSync(argv[2], text)
}
