import { createHash } from 'node:crypto'
import { chmodSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { must } from './guest-image.ts'

/** A package of the tests, with the script that runs when it is installed. */
export interface SmallPackage {
  readonly name: string
  readonly version: string
  readonly postinst: string
}

/** Packs it into `folder` and returns the file. */
export async function pack({ name, version, postinst }: SmallPackage, folder: string): Promise<string> {
  const tree = join(folder, `${name}-${version}`)
  mkdirSync(join(tree, 'DEBIAN'), { recursive: true, mode: 0o755 })
  const fields = ['Architecture: all', 'Maintainer: Tests <tests@localhost>', 'Description: package of the tests']
  writeFileSync(join(tree, 'DEBIAN/control'), [`Package: ${name}`, `Version: ${version}`, ...fields, ''].join('\n'))
  writeFileSync(join(tree, 'DEBIAN/postinst'), `#!/bin/sh\nset -e\n${postinst}\n`)
  chmodSync(join(tree, 'DEBIAN/postinst'), 0o755)
  const file = join(folder, `${name}_${version}_all.deb`)
  await must('dpkg-deb', '--root-owner-group', '--build', tree, file)
  return file
}

/** A flat repository in `folder`, with these packages. */
export async function repository(folder: string, files: readonly string[]): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: 0o755 })
  const entries = await Promise.all(
    files.map(async (file) => {
      cpSync(file, join(folder, basename(file)))
      const content = readFileSync(file)
      const sha256 = createHash('sha256').update(content).digest('hex')
      const fields = (await must('dpkg-deb', '--field', file)).trimEnd()
      return `${fields}\nFilename: ./${basename(file)}\nSize: ${content.length}\nSHA256: ${sha256}\n`
    }),
  )
  writeFileSync(join(folder, 'Packages'), entries.join('\n'))
}
