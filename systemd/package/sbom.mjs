// `npm run sbom [-- FILE]`: what runs on an appliance beside Debian's own packages, as CycloneDX 1.5. The same for the
// same lock.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..')
// With `--omit dev` npm leaves out what tests name as well, though it is needed to run.
const WORDS = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']

/** What the lock names for more than development. */
function ofProduction() {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'))
  return Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { name, version }]) => ({ name: name ?? path.split('node_modules/').at(-1), version }))
}

/** `shipped` are the packages that are installed; otherwise all that the lock names for any machine. */
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
  // npm takes the name from the folder, which is another for everybody.
  const component = { ...own, type: 'application', name: 'fulcrum', version }
  // A package that the lock knows by another name has its own in the reference.
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
  // The form of a random one (RFC 9562, version 8), made from what it is about.
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
