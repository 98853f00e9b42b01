import { readFileSync } from 'node:fs'

/** Fewer do not carry the daemon: threads, stores and programs have some 80 open before anybody connects. */
const DESCRIPTORS_MIN = 256

/**
 * Files and sockets that this process may have open. Node has raised the soft limit to the hard one when it started.
 */
export function descriptorsMax(limits = readFileSync('/proc/self/limits', 'utf8')): number {
  const [, soft] = /^Max open files\s+(\S+)/m.exec(limits) ?? []
  return soft === undefined || soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
}

/** Throws when the daemon could not keep what it needs. */
export function assertDescriptors(descriptors = descriptorsMax()): void {
  if (descriptors >= DESCRIPTORS_MIN) return
  throw new Error(
    `${descriptors} files may be open at once, and at least ${DESCRIPTORS_MIN} are needed: raise the limit with ulimit -n or LimitNOFILE=`,
  )
}
