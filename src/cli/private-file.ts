import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { Failure } from './failure.ts'

/** Writes a file that nobody else can read, whole or not at all, whatever was there before. */
export function writePrivately(path: string, text: string): void {
  const draft = `${path}.${process.pid}`
  try {
    rmSync(draft, { force: true })
    writeFileSync(draft, text, { mode: 0o600, flag: 'wx' })
    renameSync(draft, path)
  } catch (error) {
    throw new Failure(`${path} cannot be written: ${error instanceof Error ? error.message : ''}`)
  }
}
