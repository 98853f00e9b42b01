import { open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'

/** A file for its owner only unless `mode` says more, there as a whole or as before, also after a power cut. */
export async function replaceFile(path: string, content: string | Uint8Array, mode = 0o600): Promise<void> {
  const draft = await open(`${path}.new`, 'w', 0o600)
  try {
    // A umask takes away what `open` is asked for.
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
