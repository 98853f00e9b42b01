import { spawnSync } from 'node:child_process'

/** What a program said of a file, and how it ended. */
export interface Said {
  readonly status: number | null
  readonly lines: readonly string[]
}

/** As root each has a network namespace of its own: with a ping in its file, keepalived sets net.ipv4.ping_group_range even when it only checks. */
const APART = process.getuid?.() === 0 ? ['unshare', '--net'] : []

/** Why a test of this program has to be skipped; false when it has not. */
export const lacks = (program: string): string | false =>
  spawnSync(program, ['--version']).error === undefined ? false : `${program} is not installed`

export function apart(...words: readonly string[]): Said {
  const [program = '', ...args] = [...APART, ...words]
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  return { status, lines: `${stdout}${stderr}`.split('\n').filter((line) => line !== '') }
}

/** keepalived's own check of a file, without what it says of the folder of a test, which is under one that everybody can write to. */
export function keepalivedCheck(file: string): Said {
  const { status, lines } = apart('keepalived', '--config-test', '--use-file', file)
  return { status, lines: lines.filter((line) => !/unsafe permissions|insecure|Unsafe/i.test(line)) }
}

/** Whether nft would take a file; nothing is loaded. */
export const nftCheck = (file: string): Said => apart('nft', '--check', '--file', file)
