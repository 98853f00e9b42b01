/** A daemon in a separate process whose HAProxy has the number of servers given by its argument. */
import { mkdirSync } from 'node:fs'
import { createAppliance } from '../src/appliance/appliance.ts'
import { silentLog } from '../src/base/log.ts'
import { SNMP_OFF } from '../src/model/snmp.ts'
import { FulcrumAgent } from '../src/snmp/fulcrum-agent.ts'
import { LiveAnswers } from '../src/stats/live.ts'
import { recordingMachine, testSettings } from '../test/fixtures/appliance.ts'
import { tickOf } from '../test/fixtures/live-tick.ts'
import { namesOf } from '../test/src/stats/names-fixture.ts'
import { viewOf } from '../test/fixtures/view.ts'

const PER_BACKEND = 50
const HEADER =
  '# pxname,svname,qcur,qmax,scur,smax,slim,stot,bin,bout,dreq,dresp,ereq,econ,eresp,wretr,wredis,status,weight,act,bck,chkfail,chkdown,lastchg,downtime,qlimit,pid,iid,sid,throttle,lbtot,tracked,type,rate,'

const [folder = '', port = '', path = '', servers = ''] = process.argv.slice(2)
const idOf = (kind: string, number: number) => `${kind}${String(number).padStart(35, '0')}`
const backends = Array.from({ length: Math.ceil(Number(servers) / PER_BACKEND) }, (_, b) => ({
  id: idOf('b', b),
  name: `backend ${b}`,
  reals: Array.from({ length: PER_BACKEND }, (__, s) => ({
    ripId: idOf('s', b * PER_BACKEND + s),
    name: `server ${b * PER_BACKEND + s}`,
  })),
}))
const names = namesOf([], backends)

function csvAt(second: number): Uint8Array {
  const row = (proxy: string, server: string, type: number, n: number) =>
    `${proxy},${server},0,0,${n % 7},9,,${n * second},${n * second * 431},${n * second * 9173},0,0,,0,0,0,0,UP,1,1,0,0,0,9,0,,1,1,1,,9,,${type},${n % 5},`
  const rows = backends.flatMap(({ id, reals }, b) => [
    row(id, 'BACKEND', 1, b),
    ...reals.map(({ ripId }, s) => row(id, ripId, 2, b * PER_BACKEND + s)),
  ])
  return new Uint8Array(Buffer.from(`${HEADER}\n${rows.join('\n')}\n\n`))
}

const live = new LiveAnswers(names, 'bench')
live.update(tickOf(csvAt(1000)))

mkdirSync(folder, { recursive: true })
const settings = testSettings(folder, { http: { host: '127.0.0.1', port: Number(port) } })
const appliance = await createAppliance(settings, recordingMachine(folder), silentLog)
await appliance.listen()
const figures = { names, live, answers: () => true, nodeId: 'bench', version: 'bench' }
const running = viewOf({ snmpSettings: [{ ...SNMP_OFF, enabledV2: true, serviceIpId: 'any' }] })
new FulcrumAgent({ running, figures, path, log: silentLog }).start()
console.log('ready')
