import t from 'tap'
import { newNodeRequest } from '../../../src/cluster/authority.ts'
import { keyIn, keyNotice } from '../../../src/cluster/key-notice.ts'
import { newClusterKey } from '../../../src/cluster/sealing.ts'
import { spkiOf } from '../../fixtures/cluster-in-memory.ts'

t.test('only its recipients can read a new key', async (t) => {
  const [lb1, lb2, removed] = [await newNodeRequest(), await newNodeRequest(), await newNodeRequest()]
  const key = newClusterKey()
  const recipients = [
    { id: 'lb1', spki: spkiOf(lb1.key) },
    { id: 'lb2', spki: spkiOf(lb2.key) },
  ]
  const notice = keyNotice('site', key, recipients, { number: 3, at: '2026-01-01T00:00:00.000Z' })
  t.match(notice, { keyId: key.keyId, number: 3, at: '2026-01-01T00:00:00.000Z' })
  t.notOk(JSON.stringify(notice).includes(key.key))
  t.same(keyIn('site', notice, 'lb1', lb1.key), key)
  t.same(keyIn('site', notice, 'lb2', lb2.key), key)
  t.equal(keyIn('site', notice, 'lb3', removed.key), undefined)
  t.throws(() => keyIn('site', notice, 'lb1', removed.key), 'the key of another node')
  t.throws(() => keyIn('another', notice, 'lb1', lb1.key), 'of another cluster')
  t.throws(() => keyIn('site', { ...notice, keyId: '0000000000000000' }, 'lb1', lb1.key), 'under another name')
})
