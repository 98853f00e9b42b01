import { readSync, writeSync } from 'node:fs'
import type { NetlinkChannel } from './exchange.ts'
import { NetlinkError } from './netlink.ts'

/** Returns the generic netlink socket that the launcher opened and passes on in FULCRUM_GENETLINK. */
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
          // Messages that exceed the socket's memory are lost; the sequence number reveals that.
          if (code !== 'EINTR') throw new NetlinkError(`its socket failed (${code})`)
        }
      }
    },
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'ERROR'
}

/** Parses `fd:N`; undefined if no launcher set it. */
export function descriptorOf(text: string | undefined): number | undefined {
  const digits = /^fd:(\d{1,4})$/.exec(text ?? '')?.[1]
  return digits === undefined ? undefined : Number(digits)
}
