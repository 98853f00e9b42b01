import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Maximum number of uploaded packages that wait for the next update. */
export const UPLOADS_MAX = 8

export const uploadsFolder = (stateFolder: string) => join(stateFolder, 'packages')

/** Returns the complete uploaded files, oldest name first. */
export function uploadedFiles(stateFolder: string): readonly string[] {
  const folder = uploadsFolder(stateFolder)
  const names = existsSync(folder) ? readdirSync(folder) : []
  return names
    .filter((name) => /^[a-z0-9][^/]*\.deb$/.test(name))
    .toSorted()
    .map((name) => join(folder, name))
}
