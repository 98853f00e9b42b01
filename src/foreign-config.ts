import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isOurs } from './drivers/fragment.ts'

/**
 * Keeps a copy of a configuration that somebody else wrote, once, before the first apply replaces it.
 * Answers where the copy is when it was made now.
 */
export function keepForeignConfig(configFile: string, stateFolder: string): string | undefined {
  if (!existsSync(configFile)) return undefined
  const content = readFileSync(configFile, 'utf8')
  if (isOurs(content)) return undefined
  const copy = join(stateFolder, 'haproxy.cfg.before-fulcrum')
  if (existsSync(copy)) return undefined
  // It may hold passwords, whoever was allowed to read it before.
  writeFileSync(copy, content, { flag: 'wx', mode: 0o600 })
  return copy
}
