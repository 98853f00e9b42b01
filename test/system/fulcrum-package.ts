import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { finished } from './debian-tree.ts'

export const BUILDER = fileURLToPath(new URL('../../systemd/package/build.mjs', import.meta.url))

/** What `npm run package` makes of the working copy, packed in haste. Answers the file. */
export async function buildPackage(version: string, folder: string): Promise<string> {
  await run(process.execPath, BUILDER, '--output', folder, '--version', version, '--level', '1')
  return join(folder, `fulcrum_${version}_amd64.deb`)
}

/** Changes a file of a package by its path there. */
type Change = (path: string, from: RegExp, to: string) => void

/** That package under another version, which costs a fifth of building it. Answers the file beside it. */
export async function renumbered(
  file: string,
  version: string,
  more: (change: Change) => void = () => undefined,
): Promise<string> {
  const tree = mkdtempSync(join(tmpdir(), 'fulcrum-renumbered-'))
  const target = join(dirname(file), `fulcrum_${version}_amd64.deb`)
  try {
    await run('dpkg-deb', '--raw-extract', file, tree)
    const change: Change = (path, from, to) => {
      const before = readFileSync(join(tree, path), 'utf8')
      if (!from.test(before)) throw new Error(`no ${String(from)} in ${path}`)
      writeFileSync(join(tree, path), before.replace(from, to))
    }
    change('DEBIAN/control', /^Version: .*$/m, `Version: ${version}`)
    change('opt/fulcrum/package.json', /"version": "[^"]*"/, `"version": "${version}"`)
    more(change)
    await run('dpkg-deb', '--root-owner-group', '-Zzstd', '-z1', '--build', tree, target)
  } finally {
    rmSync(tree, { recursive: true, force: true })
  }
  return target
}

async function run(program: string, ...words: readonly string[]): Promise<void> {
  const { exitCode, stderr } = await finished(program, words)
  if (exitCode !== 0) throw new Error(`no package: ${stderr}`)
}
