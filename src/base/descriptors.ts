import { readFileSync } from 'node:fs'

/** The minimum for the daemon: threads, stores and programs have some 80 open before any client connects. */
const DESCRIPTORS_MIN = 256

/**
 * Returns how many files and sockets this process may have open. Node raises the soft limit to the hard one at its
 * start.
 */
export function descriptorsMax(limits = readFileSync('/proc/self/limits', 'utf8')): number {
  const [, soft] = /^Max open files\s+(\S+)/m.exec(limits) ?? []
  return soft === undefined || soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
}

/** Throws if there are too few for the daemon. */
export function assertDescriptors(descriptors = descriptorsMax()): void {
  if (descriptors >= DESCRIPTORS_MIN) return
  throw new Error(
    `only ${descriptors} files may be open, but at least ${DESCRIPTORS_MIN} are needed: raise the limit with ulimit -n or LimitNOFILE=`,
  )
}
