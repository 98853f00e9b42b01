import { statSync } from 'node:fs'
import t from 'tap'
import { WitnessFiles } from '../../../src/witness/witness-files.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('an applicant has its identity before it applies, and is a witness once told so', async (t) => {
  const files = new WitnessFiles(temporaryFolder(t, 'state'))
  t.same([files.read(), files.applying(), files.cluster.exist], [undefined, undefined, false])
  await files.keepApplying({ tokenId: 't', nodeId: 'w', key: 'secret' })
  t.same([files.read(), files.applying()], [undefined, { tokenId: 't', nodeId: 'w', key: 'secret' }])
  t.equal(statSync(files.cluster.folder).mode & 0o777, 0o700)
  const own = { clusterId: 'c', name: 'site', nodeId: 'w', host: '192.0.2.9', port: 9444, nodes: [] }
  await files.commit(own)
  await files.dropApplying()
  t.same([files.read(), files.applying()], [own, undefined])
  t.equal(files.cluster.read(), undefined, 'no node mistakes it for its own')
  t.equal(statSync(files.cluster.witnessFile).mode & 0o777, 0o600)
})
