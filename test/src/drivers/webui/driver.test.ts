import t from 'tap'
import { webuiDriver } from '../../../../src/drivers/webui/driver.ts'
import type { UserInterface } from '../../../../src/model/node.ts'
import type { RecordChange } from '../../../../src/model/sections.ts'
import { certificateRecord } from '../../../fixtures/certificate.ts'
import { viewOf } from '../../../fixtures/view.ts'

const NODE = 'node-1'
const driver = webuiDriver(NODE, 9443)
const record = (more: Partial<UserInterface> = {}): UserInterface => ({
  id: NODE,
  apiPort: 9443,
  ipId: '',
  SSLCertificate: '',
  ...more,
})
const effect = (before: UserInterface | undefined, after: UserInterface | undefined, id = NODE) =>
  driver.effectOf({ section: 'userInterfaces', id, before, after }, viewOf({}), viewOf({}))

t.test('it moves with its port and address, and presents another certificate', async (t) => {
  t.equal(effect(record(), record({ apiPort: 8443 })), 'reload')
  t.equal(effect(record(), record({ ipId: 'address' })), 'reload')
  t.equal(effect(record(), record({ SSLCertificate: 'shown' })), 'reload')
  t.equal(effect(record({ apiPort: 8443 }), undefined), 'reload', 'back to the address of the command line')
  t.equal(effect(record(), record({ sshPort: 2222, sshEnabled: true })), undefined, 'sshd is another program')
  t.equal(effect(undefined, record()), undefined, 'where it listens anyway')
  t.equal(effect(undefined, record({ apiPort: 8443 })), 'reload')
  t.equal(effect(record({ id: 'node-2' }), record({ id: 'node-2', apiPort: 1 }), 'node-2'), undefined, 'another node’s')
})

t.test('a certificate in use concerns it, any other does not', async (t) => {
  const desired = viewOf({ userInterfaces: [record({ SSLCertificate: 'shown' })] })
  const after = await certificateRecord(t, 'shown')
  const replaced = (id: string): RecordChange => ({ section: 'certificates', id, before: after, after })
  t.equal(driver.effectOf(replaced('shown'), desired, desired), 'reload')
  t.equal(driver.effectOf(replaced('other'), desired, desired), undefined)
})

t.test('the daemon moves by itself: no step and no file', async (t) => {
  const desired = viewOf({ userInterfaces: [record({ apiPort: 8443 })] })
  t.strictSame(driver.plan(undefined, desired, { atLeast: 'restart' }), [])
  t.strictSame([...driver.prepare(desired), ...driver.verify(desired), ...driver.render(desired)], [])
})
