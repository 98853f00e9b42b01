import { readFileSync } from 'node:fs'

/**
 * Text of the program that keepalived calls to add a fallback server to the kernel's table, and to remove it: see the
 * file.
 */
export const FALLBACK_PROGRAM_TEXT = readFileSync(new URL('fallback.sh', import.meta.url), 'utf8')
