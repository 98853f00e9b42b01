import { readFileSync } from 'node:fs'

/** What keepalived calls to put a fallback server into the kernel's table, and to take it out: see the file. */
export const FALLBACK_PROGRAM_TEXT = readFileSync(new URL('fallback.sh', import.meta.url), 'utf8')
