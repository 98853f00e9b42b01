import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { finished } from './debian-tree.ts'

export const BUILDER = fileURLToPath(new URL('../../systemd/package/build.mjs', import.meta.url))

/** What `npm run package` makes of the working copy, packed in haste. Answers the file. */
export async function buildPackage(version: string, folder: string): Promise<string> {
  const words = [BUILDER, '--output', folder, '--version', version, '--level', '1']
  const { exitCode, stderr } = await finished(process.execPath, words)
  if (exitCode !== 0) throw new Error(`no package: ${stderr}`)
  return join(folder, `fulcrum_${version}_amd64.deb`)
}
