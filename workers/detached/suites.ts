import { isUtf8 } from 'node:buffer'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { withSuites } from '../../src/drivers/apt/sources.ts'
import { replaceFileDurably } from '../host/durable-files.ts'
import type { SuitesStep } from './plan.ts'
import { reasonOf } from '../../src/base/reason.ts'

const SAVED = 'saved'
const DISABLED = /(^|\/)\.|\.disabled$/

/** Returns undefined, or why the files could not be changed. */
export async function changeSuites(folder: string, { files, suites, into }: SuitesStep): Promise<string | undefined> {
  try {
    if (into === undefined) await save(folder, files)
    else mkdirSync(join(folder, into), { recursive: true, mode: 0o700 })
    for (const file of files.filter((path) => !DISABLED.test(path))) {
      const found = readFileSync(file)
      // An old comment may not be UTF-8: everything but the suites stays byte for byte.
      const encoding = isUtf8(found) ? 'utf8' : 'latin1'
      const changed = Buffer.from(withSuites(found.toString(encoding), file, suites), encoding)
      const target = into === undefined ? file : join(folder, into, basename(file))
      await replaceFileDurably(target, changed, statSync(file).mode & 0o777)
    }
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}

/**
 * Saves each file once and durably: a changed file must never be saved as the original, nor half a file be restored.
 */
async function save(folder: string, files: readonly string[]): Promise<void> {
  const saved = join(folder, SAVED)
  mkdirSync(saved, { recursive: true, mode: 0o700 })
  for (const [index, file] of files.entries()) {
    const copy = join(saved, `${index}-${file.replaceAll('/', '%')}`)
    if (!existsSync(copy)) await replaceFileDurably(copy, readFileSync(file), 0o600)
  }
}

export async function putBack(folder: string): Promise<string | undefined> {
  try {
    const saved = join(folder, SAVED)
    for (const name of existsSync(saved) ? readdirSync(saved) : []) {
      const file = name.slice(name.indexOf('-') + 1).replaceAll('%', '/')
      await replaceFileDurably(file, readFileSync(join(saved, name)), statSync(file).mode & 0o777)
    }
    return undefined
  } catch (error) {
    return reasonOf(error)
  }
}
