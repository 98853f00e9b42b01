import { lstat, readFile, readlink, rename, rm, symlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isMissing, removeDurably, replaceFileDurably, syncFolder } from './durable-files.ts'

const MODE_BITS = 0o7777

/** Implements `Host.keepFile`. `give` changes the owner and group of a file, which the daemon itself may not do. */
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
