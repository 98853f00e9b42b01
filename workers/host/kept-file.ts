import { lstat, readFile, readlink, rename, rm, symlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isMissing, removeDurably, replaceFileDurably, syncFolder } from './durable-files.ts'

const MODE_BITS = 0o7777

/**
 * As `Host.keepFile` says. `give` gives a file to an owner and a group, as chown has them, which the daemon itself may
 * not.
 */
export async function keepFile(
  path: string,
  give: (owner: string, path: string) => Promise<void>,
): Promise<() => Promise<void>> {
  const found = await lstat(path).catch((error: unknown) => {
    if (isMissing(error)) return undefined
    throw error
  })
  if (found === undefined) return () => removeDurably(path)
  if (found.isSymbolicLink()) {
    const target = await readlink(path)
    return () => linkDurably(path, target)
  }
  const bytes = await readFile(path)
  return async () => {
    await replaceFileDurably(path, bytes, found.mode & MODE_BITS)
    const { uid, gid } = await lstat(path)
    if (uid !== found.uid || gid !== found.gid) await give(`${found.uid}:${found.gid}`, path)
  }
}

async function linkDurably(path: string, target: string): Promise<void> {
  const temporary = `${path}.new`
  await rm(temporary, { force: true })
  await symlink(target, temporary)
  await rename(temporary, path)
  await syncFolder(dirname(path))
}
