import { constants } from 'node:fs'
import { chmod, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

const EXECUTABLE_BY_ALL = 0o001
const MODE_BITS = 0o7777

/** Returns the file's text, or undefined when there is no file. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}

/** Returns sorted names; none when there is no such folder. */
export async function fileNames(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map(({ name }) => name)
      .toSorted()
  } catch (error) {
    if (isMissing(error)) return []
    throw error
  }
}

/**
 * Leaves the old or the new content, never a mixture, even after a power cut: the data is on disk before the name is,
 * and the name before the return.
 */
export async function replaceFileDurably(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const folder = dirname(path)
  const temporary = `${path}.new`
  // A file left by a kill may hold a secret that is no longer wanted.
  await rm(temporary, { force: true })
  // Content that is already in place needs no room on a full disk.
  if (await isThere(path, content, mode)) return syncFolder(folder)
  const made = await mkdir(folder, { recursive: true, mode: 0o700 })
  // A program that all users may run is useless in a folder that not all of them may enter.
  if (made !== undefined && (mode & EXECUTABLE_BY_ALL) !== 0) await chmod(folder, 0o755)
  try {
    await writeDurably(temporary, content, mode)
    await rename(temporary, path)
  } catch (error) {
    // On a full disk, half a file would only take up needed space.
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(folder)
}

async function isThere(path: string, content: string | Uint8Array, mode: number): Promise<boolean> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      const { mode: found, size } = await file.stat()
      if ((found & MODE_BITS) !== mode || size !== Buffer.byteLength(content)) return false
      if (!(await file.readFile()).equals(typeof content === 'string' ? Buffer.from(content) : content)) return false
      await file.sync()
      return true
    } finally {
      await file.close()
    }
  } catch {
    return false
  }
}

async function writeDurably(path: string, content: string | Uint8Array, mode: number): Promise<void> {
  const file = await open(path, 'wx', mode)
  try {
    // The umask may have removed bits that other programs need.
    await file.chmod(mode)
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

export async function renameDurably(from: string, to: string): Promise<void> {
  await rename(from, to)
  await syncFolder(dirname(to))
}

export async function removeDurably(path: string): Promise<void> {
  try {
    await rm(path)
  } catch (error) {
    if (isMissing(error)) return
    throw error
  }
  await syncFolder(dirname(path))
}

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')
}
