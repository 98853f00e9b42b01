import t from 'tap'
import { ClusterDaemons, form } from '../fixtures/cluster-daemons.ts'
import { addRip, ripsOf } from '../fixtures/cluster-sight.ts'
import { noSmallDisk, smallDisk } from '../fixtures/small-disk.ts'
import { isIn } from './killed-beginnings.ts'

/** A node whose disk has no room for a cluster. */

t.test('a disk that has no room for an etcd', { skip: noSmallDisk }, async (t) => {
  const daemons = await ClusterDaemons.begin(t)
  if (typeof daemons === 'string') return t.pass(`# SKIP ${daemons}`)
  const state = smallDisk(t, 48)
  const [full, other] = [await daemons.start([], { state }), await daemons.start()]
  await addRip(full, 'mine')
  await form(other, 'left')
  const { token } = await other.daemon.data('POST', '/cluster/tokens', {})
  const { daemon, address } = full
  for (const [path, more] of [
    ['/cluster', { name: 'site' }],
    ['/cluster/join', { token }],
  ] as const) {
    const { status, json, text } = await daemon.call('POST', path, { body: { address, ...more } })
    t.comment(text)
    t.match([status, json.code, json.message], [501, 'NOT_SUPPORTED', /no space left/])
    t.equal(await isIn(t, full), false)
    await addRip(full, path)
  }
  t.same(await ripsOf(full), ['/cluster', '/cluster/join', 'mine'])
  return undefined
})
