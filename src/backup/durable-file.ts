import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Files that are not whole yet. No name of a backup begins with a dot. */
const UNFINISHED = '.unfinished-'

/**
 * A new file, there as a whole or not at all, also after a power cut: its name comes when its bytes are on the disk.
 * The first of `names` that is free becomes its name. Answers it.
 */
export async function createDurably(
  folder: string,
  names: Iterable<string>,
  portions: Iterable<Uint8Array>,
  rest: () => Promise<void> = async () => undefined,
): Promise<string> {
  const temporary = join(folder, `${UNFINISHED}${randomBytes(8).toString('hex')}`)
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      for (const portion of portions) {
        if (portion.length > 0) await file.writeFile(portion)
        await rest()
      }
      await file.sync()
    } finally {
      await file.close()
    }
    const name = await linked(folder, temporary, names)
    await syncFolder(folder)
    return name
  } finally {
    // On a full disk, half a file would only take the space that is needed.
    await rm(temporary, { force: true })
  }
}

/** Unlike a rename, a link never takes the place of another file. */
async function linked(folder: string, temporary: string, names: Iterable<string>): Promise<string> {
  for (const name of names) {
    try {
      await link(temporary, join(folder, name))
      return name
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
    }
  }
  throw new Error(`every name in ${folder} is taken`)
}

/** Answers whether it was there. */
export async function removeDurably(folder: string, name: string): Promise<boolean> {
  try {
    await rm(join(folder, name))
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false
    throw error
  }
  await syncFolder(folder)
  return true
}

/** Makes the folder and drops what a crash left in it. */
export async function openFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  for (const name of await readdir(folder))
    if (name.startsWith(UNFINISHED)) await rm(join(folder, name), { force: true })
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code
