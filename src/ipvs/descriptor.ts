import { readSync, writeSync } from 'node:fs'
import type { NetlinkChannel } from './exchange.ts'
import { NetlinkError } from './netlink.ts'

/** The generic netlink socket that the launcher opened and handed down, in FULCRUM_GENETLINK. */
export function descriptorChannel(fd: number): NetlinkChannel {
  return {
    write(message) {
      try {
        writeSync(fd, message)
      } catch (error) {
        throw new NetlinkError(`its socket failed (${codeOf(error)})`)
      }
    },
    read(into) {
      for (;;) {
        try {
          return readSync(fd, into)
        } catch (error) {
          const code = codeOf(error)
          if (code === 'EAGAIN') return -1
          // What did not fit into the socket's memory is lost; the sequence tells what comes next.
          if (code !== 'EINTR') throw new NetlinkError(`its socket failed (${code})`)
        }
      }
    },
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'ERROR'
}

/** `fd:N`; undefined when no launcher gave one. */
export function descriptorOf(text: string | undefined): number | undefined {
  const digits = /^fd:(\d{1,4})$/.exec(text ?? '')?.[1]
  return digits === undefined ? undefined : Number(digits)
}
