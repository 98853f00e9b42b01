import t from 'tap'
import { type NetlinkChannel, NetlinkExchange } from '../../../src/ipvs/exchange.ts'
import { FLAG, MESSAGE, MessageWriter } from '../../../src/ipvs/netlink.ts'

const NOTHING = new Uint8Array(0)

function message(type: number, sequence: number, code?: number, flags = 0): Uint8Array {
  const out = new MessageWriter()
  out.begin(type, flags, sequence)
  if (code !== undefined) out.code(code)
  return out.end().slice()
}

const channelOf = (...datagrams: readonly (readonly Uint8Array[])[]): NetlinkChannel => {
  const left = datagrams.map((parts) => Buffer.concat(parts))
  return {
    write: () => undefined,
    read(into) {
      const next = left.shift()
      if (next === undefined) return -1
      into.set(next)
      return next.length
    },
  }
}

/** Returns the types of the received messages. */
function told(isDump: boolean, ...datagrams: readonly (readonly Uint8Array[])[]): readonly number[] {
  const exchange = new NetlinkExchange(channelOf(...datagrams), 4)
  t.equal(exchange.nextSequence(), 5)
  const types: number[] = []
  exchange.ask(NOTHING, isDump, (view, at) => types.push(view.getUint16(at - 12, true)))
  return types
}

t.test('a dump ends with its last message; messages of other exchanges are skipped', (t) => {
  const done = message(MESSAGE.done, 5, 0)
  t.strictSame(told(true, [message(31, 5), message(31, 5)], [message(31, 4), message(32, 5)], [done]), [31, 31, 32])
  t.strictSame(told(true, [message(MESSAGE.done, 4, 0)], [done]), [], 'the end of another one does not count')
  t.strictSame(told(false, [message(16, 5)]), [16], 'a single answer ends itself')
  t.strictSame(told(false, [message(MESSAGE.error, 5, 0)]), [], 'and so does an acknowledgement')
  t.end()
})

t.test('errors of the kernel are reasons with their number', (t) => {
  t.throws(() => told(true, [message(MESSAGE.error, 5, -1)]), { code: 1, message: /CAP_NET_ADMIN/ })
  t.throws(() => told(true, [message(MESSAGE.done, 5, -3)]), { code: 3, message: /errno 3/ })
  const interrupted = [message(31, 5, undefined, FLAG.interrupted), message(MESSAGE.done, 5, 0)]
  t.throws(() => told(true, interrupted), { code: 4 })
  t.throws(() => told(true, [message(MESSAGE.overrun, 5)]), { message: /a part of its answer was lost/ })
  t.throws(() => told(true, [message(31, 5)]), { message: /cut off/ })
  t.end()
})
