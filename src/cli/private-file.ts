import { realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Failure } from './failure.ts'

/** Writes a file that nobody else can read, whole or not at all, whatever was there before. */
export function writePrivately(path: string, text: string): void {
  try {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found === undefined) replace(path, text)
    // A link goes on naming the same file.
    else if (found.isFile()) replace(realpathSync(path), text)
    // A device or a pipe takes it and stays; a folder does not.
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
    // It may hold keys.
    rmSync(draft, { force: true })
    throw error
  }
}
