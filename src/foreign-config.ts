import { constants, copyFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** How every file begins that this daemon wrote. */
const OURS = '# Written by Fulcrum'

/**
 * Keeps a copy of a configuration that somebody else wrote, once, before the first apply replaces it.
 * Answers where the copy is when it was made now.
 */
export function keepForeignConfig(configFile: string, stateFolder: string): string | undefined {
  if (!existsSync(configFile) || readFileSync(configFile, 'utf8').startsWith(OURS)) return undefined
  const copy = join(stateFolder, 'haproxy.cfg.before-fulcrum')
  if (existsSync(copy)) return undefined
  copyFileSync(configFile, copy, constants.COPYFILE_EXCL)
  return copy
}
