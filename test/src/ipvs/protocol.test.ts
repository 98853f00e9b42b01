import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { COMMAND, COMMAND_ATTRIBUTE, DEST, SERVICE } from '../../../src/ipvs/protocol.ts'

const HEADER = '/usr/include/linux/ip_vs.h'

/** Returns the names of one enumeration of the header, in order: their position is their number. */
function numbers(text: string, first: string): ReadonlyMap<string, number> {
  const from = text.indexOf(first)
  const names = text.slice(from, text.indexOf('}', from)).match(/\bIPVS_[A-Z0-9_]+/g) ?? []
  return new Map(names.map((name, number) => [name, number]))
}

t.test('numbers are those of linux/ip_vs.h', { skip: !existsSync(HEADER) && `no ${HEADER}` }, (t) => {
  const text = readFileSync(HEADER, 'utf8')
  const commands = numbers(text, 'IPVS_CMD_UNSPEC')
  t.strictSame(
    [COMMAND.newService, COMMAND.getService, COMMAND.newDest, COMMAND.getDest],
    ['NEW_SERVICE', 'GET_SERVICE', 'NEW_DEST', 'GET_DEST'].map((name) => commands.get(`IPVS_CMD_${name}`)),
  )
  const attributes = numbers(text, 'IPVS_CMD_ATTR_UNSPEC')
  t.equal(COMMAND_ATTRIBUTE.dest, attributes.get('IPVS_CMD_ATTR_DEST'))
  const service = numbers(text, 'IPVS_SVC_ATTR_UNSPEC')
  const names = 'AF PROTOCOL ADDR PORT FWMARK SCHED_NAME FLAGS TIMEOUT NETMASK STATS STATS64'.split(' ')
  t.strictSame(
    Object.values(SERVICE),
    names.map((name) => service.get(`IPVS_SVC_ATTR_${name}`)),
  )
  const dest = numbers(text, 'IPVS_DEST_ATTR_UNSPEC')
  const parts = 'ADDR PORT FWD_METHOD WEIGHT U_THRESH L_THRESH ACTIVE_CONNS INACT_CONNS PERSIST_CONNS STATS'
  t.strictSame(
    Object.values(DEST),
    `${parts} ADDR_FAMILY STATS64`.split(' ').map((name) => dest.get(`IPVS_DEST_ATTR_${name}`)),
  )
  t.end()
})
