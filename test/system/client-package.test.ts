import { X509Certificate } from 'node:crypto'
import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'
import t from 'tap'
import { temporaryFolder } from '../fixtures/folder.ts'
import { daemonFixture, PASSWORD } from '../fixtures/daemon.ts'

/** The client as users get it: packed, installed from the file into an empty folder, compiled against, and run. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
/** Without what tap preloads into every Node program: tsc does not start with it. */
const run = (program: string, args: readonly string[]) =>
  promisify(execFile)('env', ['-u', 'NODE_OPTIONS', program, ...args], { cwd: ROOT })
const STRICT =
  '--ignoreConfig --strict --noEmit --skipLibCheck --noUncheckedIndexedAccess --exactOptionalPropertyTypes'.split(' ')
const MODULES = '--target es2022 --module nodenext --types node --typeRoots'.split(' ')
/** Size of what a page loads for the client. */
const GZIPPED_BYTES_MAX = 6_000

t.test('a program of forty operations', async (test) => {
  const folder = temporaryFolder(test, 'client-package')
  const [made, user] = [join(folder, 'client'), join(folder, 'user')]
  mkdirSync(user, { recursive: true })
  const words = ['--no-warnings', '.ci/client.mjs', '--output', made, '--version', '0.0.0']
  try {
    await run(process.execPath, words)
  } catch (error) {
    const said = String(Reflect.get(Object(error), 'stderr'))
    if (!said.includes('npm cannot install')) throw error
    test.comment(said)
    return
  }
  await run('npm', ['pack', made, '--pack-destination', folder, '--silent'])
  const tarball = join(folder, 'fulcrum-client-0.0.0.tgz')
  await run('npm', ['install', '--prefix', user, '--offline', '--no-audit', '--no-fund', tarball])
  const program = join(user, 'forty-operations.mts')
  copyFileSync(join(ROOT, '.ci/clients/forty-operations.ts'), program)
  await run(join(ROOT, 'node_modules/.bin/tsc'), [...STRICT, ...MODULES, join(ROOT, 'node_modules/@types'), program])

  const daemon = await daemonFixture(test)
  const { port } = daemon
  const fingerprint = await new Promise<string>((resolve) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(new X509Certificate(socket.getPeerCertificate().raw).fingerprint256)
      socket.destroy()
    })
  })
  const url = `https://127.0.0.1:${port}`
  const { stdout } = await run(process.execPath, ['--no-warnings', program, url, fingerprint, PASSWORD])
  test.match(stdout, /^revision [1-9]\d*$/m)
  const asked = Number(/^asked (\d+)$/m.exec(stdout)?.[1])
  test.ok(asked >= 40, stdout)
})

t.test('the part that a page loads is small, and needs nothing of Node', async (test) => {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(ROOT, 'src/client/client.ts')],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    write: false,
    metafile: true,
  })
  const bytes = gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length
  test.ok(bytes < GZIPPED_BYTES_MAX, `${bytes} bytes gzipped`)
  test.comment(`${outputFiles[0]?.contents.length} bytes, ${bytes} gzipped`)
  test.same(
    Object.keys(metafile.inputs).filter((path) => path.includes('node:') || path.endsWith('client/node.ts')),
    [],
  )
  test.notMatch(readFileSync(join(ROOT, 'src/client/client.ts'), 'utf8'), /from 'node:/)
})
