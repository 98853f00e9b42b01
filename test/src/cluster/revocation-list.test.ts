import t from 'tap'
import { Authority } from '../../../src/cluster/authority.ts'
import { derOf, pemOf } from '../../../src/cluster/revocation-list.ts'

t.test('both forms are the same list', async (t) => {
  const authority = await Authority.create('peer', 'cluster-1', Date.now())
  const pem = await authority.revocationList([{ serial: '0a', at_ms: Date.now() }], 1)
  t.equal(pemOf(derOf(pem)).trim(), pem.trim())
  t.equal(derOf(pem)[0], 0x30, 'a SEQUENCE')
})
