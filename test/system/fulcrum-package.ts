import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { finished, testCache } from './debian-tree.ts'

const PROJECT = fileURLToPath(new URL('../../', import.meta.url))
export const BUILDER = join(PROJECT, 'systemd/package/build.mjs')

/** The version of the kept package, and an earlier one. */
export const [OLDER, KEPT] = ['0.1.0~1', '0.1.0~2']

/** Longest wait for another build, and longest duration of a build. */
const KEEP_SECONDS_MAX = 900
/**
 * Copies the kept package, which is built first if none exists for this state: the content of files that git has or
 * would add, the packages installed in `node_modules`, the time of the commit, and the interpreter. The builder reads
 * nothing else. A build during which that state changed is discarded and repeated. Older packages are removed.
 */
const KEEP = `
set -e
cd "$1"
kept=$2 folder=$3
shift 3
state() {
  {
    git log -1 --format=%ct
    echo "$SOURCE_DATE_EPOCH"
    "$1" --version
    git ls-files -z --cached --others --exclude-standard -- . ':!test' ':!bench' | xargs -0 sha256sum 2>&1
    find node_modules -path 'node_modules/.*' ! -name .package-lock.json -prune -o -printf '%p %s %T@ %l\\n' | sort
  } | sha256sum | cut -d ' ' -f 1
}
while now=$(state "$1"); ! test -e "$kept/$now"; do
  rm -rf "$kept"
  "$@" --output "$kept/building"
  test "$now" != "$(state "$1")" || mv "$kept/building" "$kept/$now"
done
cp "$kept/$now/"*.deb "$folder"
`

/** Builds the working copy as `npm run package` does, with fast compression. Returns the file. */
export async function buildPackage(version: string, folder: string): Promise<string> {
  await run(...builderOf(version), '--output', folder)
  return fileOf(version, folder)
}

/** The same for one version, built once for all tests that find the working copy in the same state. */
export async function keptPackage(folder: string): Promise<string> {
  const kept = join(testCache(), 'package')
  const locked = ['-w', `${KEEP_SECONDS_MAX}`, `${kept}.lock`, 'timeout', `${KEEP_SECONDS_MAX}`]
  await run('flock', ...locked, 'sh', '-c', KEEP, 'sh', PROJECT, kept, folder, ...builderOf(KEPT))
  return fileOf(KEPT, folder)
}

const builderOf = (version: string) => [process.execPath, BUILDER, '--version', version, '--level', '1'] as const
const fileOf = (version: string, folder: string) => join(folder, `fulcrum_${version}_amd64.deb`)

/** Changes a file of a package by its path there. */
type Change = (path: string, from: RegExp, to: string) => void

/** Makes that package again under another version, at a fifth of the cost of a build. Returns the file beside it. */
export async function renumbered(
  file: string,
  version: string,
  more: (change: Change) => void = () => undefined,
): Promise<string> {
  const tree = mkdtempSync(join(tmpdir(), 'fulcrum-renumbered-'))
  const target = fileOf(version, dirname(file))
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
