// Builds @fulcrum/client: `node .ci/client.mjs --output DIR [--version V]`. The files generated from the OpenAPI
// document are not committed, so that they always match the daemon they ship with.
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { pathToFileURL } from 'node:url'
import { openapiDocument } from '../src/api/openapi.ts'
import { endpoints } from '../src/resources/index.ts'
import { installGenerators, ROOT, run, typesOf } from './generators.mjs'

const TSC = join(ROOT, 'node_modules/.bin/tsc')
/** Bundled because a site that has an appliance may have no access to a registry. */
const BUNDLED = ['openapi-fetch', 'openapi-typescript-helpers']

const EMIT =
  `--ignoreConfig --rootDir src/client --declaration --rewriteRelativeImportExtensions --strict --exactOptionalPropertyTypes
  --noUncheckedIndexedAccess --skipLibCheck --verbatimModuleSyntax --types node --target es2022 --module nodenext
  --lib es2023`.split(/\s+/)

const INDEX = `export * from './client.js'
export { createClient as createFulcrum } from './client.js'
`
const INDEX_TYPES = `import type { Client, ClientOptions } from './client.js'
import type { components, paths } from './schema.js'

export * from './client.js'
export type { components, operations, paths } from './schema.js'
/** The named shapes, such as Shapes['RealServerInput']. */
export type Shapes = components['schemas']
export type Fulcrum = Client<paths>
/** A client of one appliance. */
export declare function createFulcrum(options: ClientOptions): Fulcrum
`

function manifest(version) {
  const { license, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return {
    name: '@fulcrum/client',
    version,
    description: 'Client of the Fulcrum API, for browsers and Node',
    license,
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20' },
    exports: {
      '.': { types: './dist/index.d.ts', default: './dist/index.js' },
      './node': { types: './dist/node.d.ts', default: './dist/node.js' },
    },
    files: ['dist'],
    dependencies: { 'openapi-fetch': devDependencies['openapi-fetch'] },
    bundleDependencies: ['openapi-fetch'],
  }
}

const must = ({ isRight, said }) => {
  if (!isRight) throw new Error(said.split('\n').slice(0, 20).join('\n'))
}

/** Builds the package in this folder and returns the packages bundled in it; throws if an input is missing. */
export function makeClient(output, version) {
  const missing = installGenerators()
  if (missing !== undefined) throw new Error(missing)
  const dist = join(output, 'dist')
  mkdirSync(dist, { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-client-'))
  try {
    const document = join(folder, 'openapi.json')
    writeFileSync(document, JSON.stringify(openapiDocument(endpoints, version)))
    const [program, ...args] = typesOf(document, join(dist, 'schema.d.ts'))
    must(run(program, args))
  } finally {
    rmSync(folder, { recursive: true })
  }
  must(run(TSC, [...EMIT, '--outDir', dist, 'src/client/client.ts', 'src/client/node.ts'], ROOT))
  // tsc leaves the extension .ts in the imports of declarations.
  for (const name of readdirSync(dist).filter((one) => one.endsWith('.d.ts') && one !== 'schema.d.ts')) {
    const text = readFileSync(join(dist, name), 'utf8')
    writeFileSync(join(dist, name), text.replace(/from '(\.\/[\w-]+)\.ts'/g, "from '$1.js'"))
  }
  writeFileSync(join(dist, 'index.js'), INDEX)
  writeFileSync(join(dist, 'index.d.ts'), INDEX_TYPES)
  writeFileSync(join(output, 'package.json'), `${JSON.stringify(manifest(version), null, 2)}\n`)
  copyFileSync(join(ROOT, 'src/client/README.md'), join(output, 'README.md'))
  copyFileSync(join(ROOT, 'LICENSE'), join(output, 'LICENSE'))
  return BUNDLED.map((name) => {
    const from = join(ROOT, 'node_modules', name)
    const isRead = (path) => !/\.(map|cts|cjs)$|\/(examples|src|test|CONTRIBUTING\.md|CHANGELOG\.md)$/.test(path)
    cpSync(from, join(output, 'node_modules', name), { recursive: true, filter: isRead })
    const { version: bundled, license } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8'))
    return { name, version: bundled, license }
  })
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { version: ours } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const options = {
    output: { type: 'string', default: join(ROOT, '.cache/client') },
    version: { type: 'string', default: ours },
  }
  const { output, version } = parseArgs({ options, strict: true }).values
  rmSync(output, { recursive: true, force: true })
  makeClient(output, version)
  console.log(output)
}
