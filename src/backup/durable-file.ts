import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Prefix of incomplete files. No name of a backup begins with a dot. */
const UNFINISHED = '.unfinished-'

/**
 * Creates a file atomically, also across a power cut: it gets its name once its bytes are on the disk. The name is the
 * first free one of `names`, and is returned.
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
    // On a full disk, an incomplete file would only occupy space.
    await rm(temporary, { force: true })
  }
}

/** Links the file: unlike a rename, a link never replaces another file. */
async function linked(folder: string, temporary: string, names: Iterable<string>): Promise<string> {
  for (const name of names) {
    try {
      await link(temporary, join(folder, name))
      return name
    } catch (error) {
      if (!hasCode(error, 'EEXIST')) throw error
    }
  }
  throw new Error(`all names in ${folder} are taken`)
}

/** Resolves with whether the file existed. */
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

/** Creates the folder and removes the remains of a crash. */
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
