import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Uploaded packages that wait for the next update. */
export const UPLOADS_MAX = 8

export const uploadsFolder = (stateFolder: string) => join(stateFolder, 'packages')

/** What was uploaded, whole; oldest name first. */
export function uploadedFiles(stateFolder: string): readonly string[] {
  const folder = uploadsFolder(stateFolder)
  const names = existsSync(folder) ? readdirSync(folder) : []
  return names
    .filter((name) => /^[a-z0-9][^/]*\.deb$/.test(name))
    .toSorted()
    .map((name) => join(folder, name))
}
