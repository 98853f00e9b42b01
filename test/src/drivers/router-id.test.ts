import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { keepalivedDriver } from '../../../src/drivers/keepalived/driver.ts'
import { ROUTER_ID } from '../../../src/drivers/router-id.ts'
import { vrrpDriver } from '../../../src/drivers/vrrp/driver.ts'
import { findProgram } from '../../../workers/host/programs.ts'
import { l4Backend, l4Frontend, realServer } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'
import { finished } from '../../system/debian-tree.ts'

const NODES = ['lb1', 'lb2'] as const
/** An empty name server counts its queries while keepalived reads a file. */
const COUNTED = `
const socket = require('node:dgram').createSocket('udp4')
let asked = 0
socket.on('message', (question, from) => {
  asked++
  question.writeUInt16BE(0x8183, 2)
  socket.send(question, from.port, from.address)
})
socket.bind(53, '127.0.0.1', () => {
  require('node:child_process').execFile('keepalived', process.argv.slice(1), () => {
    console.log(asked)
    process.exit()
  })
})`
const PLACE =
  'mount --bind "$1/hosts" /etc/hosts; mount --bind "$1/resolv" /etc/resolv.conf; ip link set lo up; hostname lb1'

/** With a name that is in no file, where no other name server is reachable. */
async function questions(folder: string, text: string, kind: '--check' | '--vrrp'): Promise<number> {
  const file = join(folder, 'conf')
  writeFileSync(file, text)
  const argv = ['--config-test', kind, '--use-file', file]
  const script = `set -e; ${PLACE}; shift; exec "$@"`
  const node = [process.execPath, '-e', COUNTED, '--', ...argv]
  const { stdout, stderr } = await finished('unshare', ['-mnu', 'sh', '-c', script, 'sh', folder, ...node])
  if (stdout === '') throw new Error(stderr)
  return Number(stdout)
}

const missing = (await findProgram('keepalived')) === undefined || (await findProgram('unshare')) === undefined
const skip = process.getuid?.() !== 0 ? 'needs root' : missing ? 'needs keepalived and unshare' : false

t.test('keepalived does not look up the name of its machine', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-name-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'hosts'), '127.0.0.1 localhost\n')
  writeFileSync(join(folder, 'resolv'), 'nameserver 127.0.0.1\n')
  const view = viewOf({
    ipGroups: [
      {
        id: 'lan',
        name: 'lan',
        networkIp: '127.0.0.0',
        networkMask: 8,
        gateway: '',
        defaultGateway: false,
        assignedInterfaces: NODES.map((nodeId) => ({ nodeId, interfaceId: 'lo' })),
      },
    ],
    staticIps: NODES.map((nodeId, at) => ({
      id: nodeId,
      nodeId,
      groupId: 'lan',
      ip: `127.0.0.${at + 1}`,
      externalPingCheck: false,
    })),
    floatingIps: [{ id: 'fip', ip: '127.0.0.100', groupId: 'lan', enabled: true }],
    realServers: [realServer('rs', { ip: '127.0.0.3', port: 80 })],
    l4Backends: [l4Backend('be', ['rs'])],
    l4Frontends: [l4Frontend('fe', 'be', { ip: '127.0.0.100', ports: '80' })],
  })
  const [layer4 = ''] = keepalivedDriver('lb1')
    .render(view)
    .map(({ content }) => content)
  const moving = vrrpDriver('lb1', () => NODES)
    .render(view)
    .map(({ content }) => content.replaceAll(/\{interface:\w+\}/g, 'lo'))
  const vrrp = moving.find((content) => content.includes('vrrp_instance')) ?? ''
  for (const [kind, text] of [
    ['--check', layer4],
    ['--vrrp', vrrp],
  ] as const) {
    t.match(text, ROUTER_ID)
    t.equal(await questions(folder, text, kind), 0)
    t.ok((await questions(folder, text.replace(ROUTER_ID, ''), kind)) > 0, 'otherwise it does')
  }
})
