import { realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Failure } from './failure.ts'

/** Writes a file that nobody else can read, atomically, whatever was there before. */
export function writePrivately(path: string, text: string): void {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) replace(path, text)
    // A link continues to point to the same file.
    else if (found.isFile()) replace(realpathSync(path), text)
    // A device or a pipe is written to and stays; a folder is an error.
    else writeFileSync(path, text)
  } catch (error) {
    throw new Failure(`${path} cannot be written: ${error instanceof Error ? error.message : ''}`)
  }
}

function replace(path: string, text: string): void {
  const draft = `${path}.${process.pid}`
  rmSync(draft, { force: true })
  try {
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx' })
    renameSync(draft, path)
  } catch (error) {
    // It may contain keys.
    rmSync(draft, { force: true })
    throw error
  }
}
