// Builds the admin page of src/ui: an entry and the files that it loads later, each named by a hash of its content,
// with brotli and gzip variants. `npm start`, the tests and the package build it if it is missing or its sources have
// changed; the daemon serves the files listed in files.json and nothing else (docs/decisions/147-the-admin-page.md).
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FOLDER = 'node_modules/.page'
const ENTRY = 'src/ui/main.tsx'
const TEMPLATE = 'src/ui/index.html'
const TYPES = { '.js': 'text/javascript; charset=utf-8', '.css': 'text/css; charset=utf-8' }

async function bundle() {
  const { build } = await import('esbuild')
  return build({
    absWorkingDir: ROOT,
    entryPoints: [ENTRY],
    outdir: FOLDER,
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    minify: true,
    platform: 'browser',
    format: 'esm',
    target: ['es2023', 'chrome123', 'firefox128', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    tsconfigRaw: {},
    legalComments: 'none',
    metafile: true,
    write: false,
    logLevel: 'error',
  })
}

const stamps = (paths) =>
  paths.map((path) => {
    const { size, mtimeMs } = statSync(join(ROOT, path))
    return [path, size, mtimeMs]
  })

/** `level` is that of brotli: the best takes a second, too long for a build in a clone. */
export async function makePage(target = ROOT, { isSealed = false, level = 5 } = {}) {
  const { outputFiles, metafile } = await bundle()
  const names = Object.entries(metafile.outputs)
  const entry = names.find(([, { entryPoint }]) => entryPoint === ENTRY)
  const style = entry[1].cssBundle
  const template = readFileSync(join(ROOT, TEMPLATE), 'utf8')
  const first = entry[1].imports.filter(({ kind }) => kind === 'import-statement').map(({ path }) => basename(path))
  const html = template
    .replace('<!-- style -->', `<link rel="stylesheet" href="assets/${basename(style)}">`)
    .replace(
      '<!-- script -->',
      [
        ...first.map((name) => `<link rel="modulepreload" href="assets/${name}">`),
        `<script type="module" src="assets/${basename(entry[0])}"></script>`,
      ].join('\n'),
    )
  const files = [
    { name: 'index.html', type: 'text/html; charset=utf-8', bytes: Buffer.from(html) },
    ...outputFiles.map(({ path, contents }) => ({
      name: basename(path),
      type: TYPES[extname(path)],
      bytes: Buffer.from(contents),
    })),
  ]
  const folder = join(target, FOLDER)
  const draft = `${folder}.${process.pid}`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { recursive: true })
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: level } }
  for (const { name, bytes } of files) {
    writeFileSync(join(draft, name), bytes)
    writeFileSync(join(draft, `${name}.br`), brotliCompressSync(bytes, quality))
    writeFileSync(join(draft, `${name}.gz`), gzipSync(bytes, { level: 9 }))
  }
  const sources = Object.keys(metafile.inputs).filter((path) => !path.startsWith('node_modules/'))
  const inputs = isSealed ? [] : stamps(['package-lock.json', '.ci/page.mjs', TEMPLATE, ...sources])
  const table = files.map(({ name, type, bytes }) => {
    const sum = createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
    return { name, type, etag: `"${sum}"` }
  })
  const isFirst = new Set(['index.html', basename(entry[0]), basename(style), ...first])
  writeFileSync(
    join(draft, 'files.json'),
    JSON.stringify({ inputs, files: table, first: table.map(({ name }) => name).filter((name) => isFirst.has(name)) }),
  )
  rmSync(folder, { recursive: true, force: true })
  renameSync(draft, folder)
}

/** Returns whether the page was built from the current sources. */
export function isPageMade() {
  try {
    const { inputs } = JSON.parse(readFileSync(join(ROOT, FOLDER, 'files.json'), 'utf8'))
    return JSON.stringify(inputs) === JSON.stringify(stamps(inputs.map(([path]) => path)))
  } catch {
    return false
  }
}
