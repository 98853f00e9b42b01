import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
  readonly allowScripts: Readonly<Record<string, boolean>>
}

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly version: string; readonly integrity?: string; readonly hasInstallScript?: boolean }>
  >
}

const fileOf = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url))
const manifest = JSON.parse(readFileSync(fileOf('package.json'), 'utf8')) as Manifest
const text = readFileSync(fileOf('package-lock.json'), 'utf8')
const { packages } = JSON.parse(text) as Lock
const pins = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies })

/** Checked by hand against the published package: the mirror of uWebSockets.js has a single maintainer. */
const UWS_BINARY = 'node_modules/@uwsjs/linux-x64-22/uws.node'
const UWS_SHA256 = 'f687e7c3666b5cca9d355184bbf07bb0550f5ba0d3ffd453248ccfec552dde6c'

t.test('the lock file is tidy', async (t) => {
  await t.resolves(promisify(execFile)(process.execPath, [fileOf('.ci/tidy-lock.mjs'), '--check']))
})

t.test('every dependency is pinned to one version, and that version is locked', (t) => {
  for (const [name, pin] of pins) {
    const version = /^(?:npm:(?:@[\w-]+\/)?[\w.-]+@)?(\d+\.\d+\.\d+)$/.exec(pin)?.[1]
    t.ok(version, `${name} ${pin}`)
    t.equal(packages[`node_modules/${name}`]?.version, version, name)
  }
  t.end()
})

t.test('every locked package has its integrity and no registry address', (t) => {
  const without = Object.entries(packages).filter(([path, entry]) => path !== '' && entry.integrity === undefined)
  t.strictSame(without, [])
  t.notMatch(text, /"resolved"/)
  t.notMatch(text, /https?:\/\/[^"/]*(?:registry|npmjs|artifact|nexus|verdaccio)/)
  t.end()
})

t.test('no package runs a script at its installation', (t) => {
  const scripted = Object.entries(packages)
    .filter(([, entry]) => entry.hasInstallScript === true)
    .map(([path]) => path.replace(/^.*node_modules\//, ''))
  for (const name of scripted) t.equal(manifest.allowScripts[name], false, `${name} is refused by name`)
  for (const name of Object.keys(manifest.allowScripts)) t.ok(scripted.includes(name), `${name} is still needed`)
  t.end()
})

t.test('the native HTTP server is the checked binary', (t) => {
  t.equal(
    createHash('sha256')
      .update(readFileSync(fileOf(UWS_BINARY)))
      .digest('hex'),
    UWS_SHA256,
  )
  t.end()
})
