import t from 'tap'
import { fullProblems, managementOf, partProblems } from '../../../src/backup/restore-rules.ts'
import { TWO_NODES } from '../../fixtures/backup.ts'

const HEAD = { applianceVersion: '0.1.0', createdAt: '', nodes: TWO_NODES, sections: [], isSealed: false }
const CARD = { id: 'if-1', name: 'eth0', mac: '', mtu: 1500, state: 'up', addresses: [] } as const

const told = (problems: readonly { readonly field: string; readonly code: string }[]) =>
  problems.map(({ field, code }) => `${field} ${code}`)

t.test('a partial restore names known sections that can stand alone, and no options of a full one', (test) => {
  test.same(partProblems({ file: 'f', sections: ['rbac', 'fip', 'realServers'] }), [])
  const request = { file: 'f', sections: ['licence', 'x'], gateway: '192.0.2.1', interface: 'eth0' }
  test.same(told(partProblems(request)), [
    'sections.0 FULL_RESTORE_ONLY',
    'sections.1 SECTION_UNKNOWN',
    'gateway FULL_RESTORE_ONLY',
    'interface FULL_RESTORE_ONLY',
  ])
  test.end()
})

t.test('a full restore of several nodes names the node that this one becomes', (test) => {
  test.same(told(fullProblems({ file: 'f' }, HEAD, [])), ['nodeId REQUIRED'])
  test.same(told(fullProblems({ file: 'f', nodeId: 'node-3' }, HEAD, [])), ['nodeId NOT_FOUND'])
  test.same(fullProblems({ file: 'f', nodeId: 'node-2' }, HEAD, []), [])
  test.end()
})

t.test('a management address is complete and usable', (test) => {
  const problems = (more: object) => told(fullProblems({ file: 'f', nodeId: 'node-1', ...more }, HEAD, [CARD]))
  test.same(problems({ ip: '192.0.2.7', mask: 24, interface: 'eth0', gateway: '192.0.2.1' }), [])
  test.same(problems({ ip: '2001:db8::7', mask: 64, interface: 'if-1' }), [])
  test.same(problems({ ip: '192.0.2.0', mask: 24, interface: 'eth0' }), ['ip INVALID'])
  test.same(problems({ ip: '192.0.2.7', mask: 24, interface: 'eth0', gateway: '192.0.2.7' }), ['ip INVALID'])
  test.same(problems({ interface: 'eth0' }), ['interface ADDRESS_REQUIRED'])
  test.end()
})

t.test('the management address is that of the request', (test) => {
  const request = { file: 'f', ip: '2001:DB8:0::7', mask: 64, interface: 'eth0' }
  test.same(managementOf(request, [CARD]), {
    ip: '2001:db8::7',
    subnet: { networkIp: '2001:db8::', networkMask: 64, gateway: '', defaultGateway: false },
    interfaceId: 'if-1',
  })
  test.equal(managementOf({ file: 'f' }, [CARD]), undefined)
  test.end()
})
