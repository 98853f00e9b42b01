import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { cutOffGuard } from '../../src/listeners/cut-off.ts'
import { runProgram } from '../../workers/host/linux-host.ts'
import { readConnections } from '../../workers/probe/connections.ts'
import { readInterfaces } from '../../workers/probe/interfaces.ts'
import { type Records, viewOf } from '../fixtures/view.ts'

/**
 * Serves one client in its namespace and reports the effect of a change on it:
 * `cut-off-child.ts NODE IP PORT BEFORE AFTER`.
 */
const [nodeId = '', ip = '', port = '', before = '', after = ''] = process.argv.slice(2)
const [running, desired]: readonly Records[] = [JSON.parse(before), JSON.parse(after)]

const facts = {
  connections: (client: string, to: number) => readConnections(client, to, runProgram),
  interfaces: () => readInterfaces(runProgram),
}
const guard = cutOffGuard({ nodeId, facts, api: { port: Number(port) } })
const server = createServer().listen(Number(port), ip)
const [socket]: Socket[] = await once(server, 'connection')
const verdict = await guard(viewOf(running ?? {}), viewOf(desired ?? {}), socket?.remoteAddress ?? '')
process.stdout.write(verdict ?? 'nothing')
socket?.destroy()
server.close()
