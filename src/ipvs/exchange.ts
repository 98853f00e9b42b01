import { FLAG, MESSAGE, MESSAGE_HEADER, NetlinkError, pad } from './netlink.ts'

/** A netlink socket that never blocks. */
export interface NetlinkChannel {
  write(message: Uint8Array): void
  /** Returns the bytes of the next datagram; -1 if there is none. */
  read(into: Uint8Array): number
}

/** Receives one message of an answer, in a buffer that the next read overwrites: its payload is [at, end). */
export type EachMessage = (view: DataView, at: number, end: number) => void

/** The kernel sends datagrams of up to 32 KiB. */
const DATAGRAM_BYTES = 65_536
/** A dump of a hundred thousand entries has some ten thousand datagrams: more is no answer to our requests. */
const DATAGRAMS_MAX = 1_000_000

const [EINTR, ENOENT, EPERM, ESRCH, EACCES, EOPNOTSUPP] = [4, 2, 1, 3, 13, 95]
export const ERRNO = { EINTR, ENOENT, EPERM, ESRCH, EOPNOTSUPP } as const

/**
 * Sends a request and reads the whole answer, which the kernel gives at once. Remains of an earlier exchange are
 * skipped.
 */
export class NetlinkExchange {
  readonly #channel: NetlinkChannel
  readonly #buffer = new Uint8Array(DATAGRAM_BYTES)
  readonly #view = new DataView(this.#buffer.buffer)
  #sequence: number

  constructor(channel: NetlinkChannel, sequence = Math.floor(Math.random() * 0x7f_ff_ff_ff)) {
    this.#channel = channel
    this.#sequence = sequence
  }

  nextSequence(): number {
    this.#sequence = (this.#sequence + 1) >>> 0
    return this.#sequence
  }

  /**
   * `request` has the latest sequence number. Throws a NetlinkError, possibly after a part of the dump was passed on.
   */
  ask(request: Uint8Array, isDump: boolean, each: EachMessage): void {
    this.#channel.write(request)
    let isInterrupted = false
    for (let datagrams = 0; datagrams < DATAGRAMS_MAX; datagrams++) {
      const length = this.#channel.read(this.#buffer)
      if (length < 0) throw new NetlinkError('its answer was cut off')
      const seen = this.#datagram(length, isDump, each)
      isInterrupted ||= seen.isInterrupted
      if (!seen.isEnd) continue
      if (isInterrupted) throw new NetlinkError('it was changed while it was read', ERRNO.EINTR)
      return
    }
    throw new NetlinkError('its answer does not end')
  }

  #datagram(
    length: number,
    isDump: boolean,
    each: EachMessage,
  ): { readonly isEnd: boolean; readonly isInterrupted: boolean } {
    const view = this.#view
    let isInterrupted = false
    for (let at = 0; at + MESSAGE_HEADER <= length;) {
      const size = view.getUint32(at, true)
      if (size < MESSAGE_HEADER || at + size > length) throw new NetlinkError('its answer is malformed')
      const [start, end] = [at, at + size]
      at += pad(size)
      // An answer to an exchange that was abandoned, by this run or the previous one.
      if (view.getUint32(start + 8, true) !== this.#sequence) continue
      isInterrupted ||= (view.getUint16(start + 6, true) & FLAG.interrupted) !== 0
      const type = view.getUint16(start + 4, true)
      if (type === MESSAGE.error || type === MESSAGE.done) {
        refuse(end - start >= MESSAGE_HEADER + 4 ? view.getInt32(start + MESSAGE_HEADER, true) : 0)
        return { isEnd: true, isInterrupted }
      }
      if (type === MESSAGE.overrun) throw new NetlinkError('a part of its answer was lost', ERRNO.EINTR)
      each(view, start + MESSAGE_HEADER, end)
      if (!isDump) return { isEnd: true, isInterrupted }
    }
    return { isEnd: false, isInterrupted }
  }
}

/** Zero is an acknowledgement, or the regular end of a dump. */
function refuse(code: number): void {
  if (code >= 0) return
  const errno = -code
  if (errno === EPERM || errno === EACCES) throw new NetlinkError('reading it needs CAP_NET_ADMIN', errno)
  throw new NetlinkError(`it refused the query (errno ${errno})`, errno)
}
