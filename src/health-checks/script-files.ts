import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { SCRIPT_BYTES_MAX } from '../model/health-check.ts'

/** Folder of scripts that an administrator put on the machine; a request for a health check can name one. */
export const SCRIPTS_FOLDER = 'scripts'

/** Result of looking for a script by its name. */
export type ScriptFile = { readonly script: string } | { readonly problem: string }

/** Returns the content of a script in this folder. The name was checked and cannot lead out of the folder. */
export async function scriptFile(folder: string, name: string): Promise<ScriptFile> {
  const path = join(folder, name)
  // A symbolic link could show any file of the machine, and opening a pipe would block for ever.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await open(path, flags).catch(() => undefined)
  if (file === undefined) return { problem: `is not a file: there is no readable ${name} in ${folder}` }
  try {
    const found = await file.stat()
    if (!found.isFile()) return { problem: `is not a file: ${path} is something else` }
    if (found.size > SCRIPT_BYTES_MAX) return { problem: `names ${path}, which is larger than 256 KiB` }
    // The file may have grown since.
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(SCRIPT_BYTES_MAX + 1), position: 0 })
    if (bytesRead > SCRIPT_BYTES_MAX) return { problem: `names ${path}, which is larger than 256 KiB` }
    return contentOf(buffer.subarray(0, bytesRead), path)
  } finally {
    await file.close()
  }
}

function contentOf(bytes: Uint8Array, path: string): ScriptFile {
  try {
    const script = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return script.startsWith('#!') ? { script } : { problem: `names ${path}, which does not begin with #!` }
  } catch {
    return { problem: `names ${path}, which is not text in UTF-8` }
  }
}
