import { createHash } from 'node:crypto'
import { chmodSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { finished } from './debian-tree.ts'

export interface TestPackage {
  readonly name: string
  readonly version: string
  readonly arch?: string
  readonly conflicts?: string
  readonly postinst?: string
  /** Configuration files, by path. */
  readonly conffiles?: Readonly<Record<string, string>>
}

/** Packs the package into `folder` and returns the file. */
export async function packed(folder: string, one: TestPackage): Promise<string> {
  const { name, version, arch = 'all', conflicts, postinst, conffiles = {} } = one
  const tree = join(folder, 'trees', `${name}-${version}`)
  rmSync(tree, { recursive: true, force: true })
  const write = (path: string, text: string, mode = 0o644) => {
    const file = join(tree, path)
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 })
    writeFileSync(file, text)
    chmodSync(file, mode)
  }
  const fields = {
    Package: name,
    Version: version,
    Architecture: arch,
    ...(conflicts === undefined ? {} : { Conflicts: conflicts }),
    Maintainer: 'Tests <tests@localhost>',
    Homepage: `https://packages.test/${name}`,
    Description: `package ${name} of the tests\n It has two\n .\n paragraphs.`,
  }
  const control = Object.entries(fields).map(([field, value]) => `${field}: ${value}\n`)
  write('DEBIAN/control', control.join(''))
  if (postinst !== undefined) write('DEBIAN/postinst', `#!/bin/sh\nset -e\n${postinst}\n`, 0o755)
  const paths = Object.keys(conffiles)
  if (paths.length > 0) write('DEBIAN/conffiles', paths.map((path) => `${path}\n`).join(''))
  for (const [path, text] of Object.entries(conffiles)) write(path, text)
  const file = join(folder, `${name}_${version}_${arch}.deb`)
  const { exitCode, stderr } = await finished('dpkg-deb', ['--root-owner-group', '--build', tree, file])
  if (exitCode !== 0) throw new Error(`dpkg-deb: ${stderr}`)
  return file
}

/** Makes the suite of the repository in `root` hold exactly these packages. */
export async function publish(root: string, suite: string, label: string, files: readonly string[]): Promise<void> {
  const entries = await Promise.all(
    files.map(async (file) => {
      const path = `pool/${basename(file)}`
      mkdirSync(join(root, 'pool'), { recursive: true, mode: 0o755 })
      cpSync(file, join(root, path))
      const content = readFileSync(file)
      const { stdout } = await finished('dpkg-deb', ['--field', file])
      return `${stdout.trimEnd()}\nFilename: ${path}\nSize: ${content.length}\nSHA256: ${sha256(content)}\n`
    }),
  )
  const folder = join(root, 'dists', suite)
  const packages = entries.join('\n')
  const path = 'main/binary-amd64/Packages'
  mkdirSync(join(folder, dirname(path)), { recursive: true, mode: 0o755 })
  writeFileSync(join(folder, path), packages)
  const release = {
    Origin: 'Tests',
    Label: label,
    Suite: suite,
    Codename: suite,
    Version: '1',
    Date: new Date().toUTCString(),
    Architectures: 'amd64',
    Components: 'main',
    SHA256: `\n ${sha256(Buffer.from(packages))} ${Buffer.byteLength(packages)} ${path}`,
  }
  const lines = Object.entries(release).map(([field, value]) => `${field}: ${value}\n`)
  writeFileSync(join(folder, 'Release'), lines.join(''))
}

const sha256 = (content: Buffer) => createHash('sha256').update(content).digest('hex')
