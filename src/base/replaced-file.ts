import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Writes a file atomically, also across a power cut; readable by its owner only, unless `mode` allows more. */
export async function replaceFile(path: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  const draft = await open(`${path}.new`, 'w', 0o600)
  try {
    // The umask may have removed bits from the mode given to `open`.
    await draft.chmod(mode)
    await draft.writeFile(content)
    await draft.sync()
  } finally {
    await draft.close()
  }
  await rename(`${path}.new`, path)
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
