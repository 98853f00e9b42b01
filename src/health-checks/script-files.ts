import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { SCRIPT_BYTES_MAX } from '../model/health-check.ts'

/** Scripts that somebody put on the machine, to be named when a health check is sent. */
export const SCRIPTS_FOLDER = 'scripts'

/** What came of looking for a script by its name. */
export type ScriptFile = { readonly script: string } | { readonly problem: string }

/** The content of a script of this folder. The name is one that could lead nowhere else. */
export async function scriptFile(folder: string, name: string): Promise<ScriptFile> {
  const path = join(folder, name)
  // A link could show any file of the machine, and opening a pipe would wait for ever.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await open(path, flags).catch(() => undefined)
  if (file === undefined) return { problem: `names no file: there is no readable ${name} in ${folder}` }
  try {
    const found = await file.stat()
    if (!found.isFile()) return { problem: `names no file: ${path} is something else` }
    if (found.size > SCRIPT_BYTES_MAX) return { problem: `names ${path}, which is larger than 256 KiB` }
    // It may have grown since.
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
