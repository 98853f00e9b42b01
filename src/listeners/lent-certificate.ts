import { mkdtemp, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { nodeIn } from '../drivers/this-node.ts'
import type { Tls } from '../http/acceptor.ts'
import type { Certificate } from '../model/certificates.ts'
import type { ConfigView } from '../model/sections.ts'

/** Returns the certificate that the user interface names; undefined for the API's own. */
export function chosenCertificate(view: ConfigView, nodeId: string): Certificate | undefined {
  const id = view.get('userInterfaces', nodeIn(view, nodeId))?.SSLCertificate ?? ''
  return id === '' ? undefined : view.get('certificates', id)
}

/**
 * Provides the certificate as files, because uWebSockets.js accepts nothing else, and removes them when `use` has
 * ended. Only root can read them, and `folder` holds the API's own key anyway.
 */
export async function asFiles<T>(
  { chain, privateKey }: Certificate,
  folder: string,
  use: (tls: Tls) => T | Promise<T>,
): Promise<T> {
  const lent = await mkdtemp(join(folder, LENT))
  try {
    const files = { keyFile: join(lent, 'key.pem'), certificateFile: join(lent, 'certificate.pem') }
    await write(files.keyFile, privateKey)
    await write(files.certificateFile, chain)
    return await use(files)
  } finally {
    await rm(lent, { recursive: true, force: true })
  }
}

/** Prefix of the folders of such files. */
const LENT = 'lent-'

/** Removes files left by a crash. */
export async function forgetLent(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) if (name.startsWith(LENT)) await rm(join(folder, name), { recursive: true, force: true })
}

async function write(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
  } finally {
    await file.close()
  }
}
