import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { NoRoomError } from '../../../storage/room.ts'
import { StorageWatch } from '../../../workers/archive/storage-watch.ts'

t.test('a full disk is a state that ends on its own', async (t) => {
  const watch = new StorageWatch(tmpdir())
  t.equal(watch.fault, undefined)
  watch.failed(new NoRoomError('the disk is full'), 5_000)
  watch.failed(new NoRoomError('the disk is full'), 6_000)
  t.strictSame(watch.fault, { reason: 'the disk is full', since_ms: 5_000, isStoring: false, isFinal: false })
  t.equal(watch.forbids(6_500), undefined, 'the next commit may try')
  watch.stored('the disk is full', 7_000)
  t.match(watch.fault, { since_ms: 5_000, isStoring: true })
  watch.stored(undefined, 8_000)
  t.equal(watch.fault, undefined)
})

t.test('after LMDB itself failed, it is retried only when the disk was seen to work', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'watch-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const watch = new StorageWatch(directory)
  watch.failed(new Error('Input/output error: Attempting to write page'), 1_000)
  t.match(watch.fault, { reason: 'the disk failed (Input/output error)', isFinal: false })
  t.equal(watch.forbids(2_000), 'the disk failed (Input/output error)', 'not at once')
  t.equal(watch.forbids(7_000), undefined, 'the disk works')
  t.notOk(existsSync(join(directory, 'probe')), 'and nothing is left of the probe')
  watch.stored(undefined, 7_000)
  t.equal(watch.fault, undefined)
})

t.test('a disk that still fails is not written to', async (t) => {
  const watch = new StorageWatch(join(tmpdir(), 'there-is-no-such-folder'))
  watch.failed(new Error('Input/output error'), 1_000)
  t.match(watch.forbids(7_000), /the disk fails \(ENOENT\)/)
})

t.test('a failure of LMDB on a working disk needs a restart', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'watch-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const watch = new StorageWatch(directory)
  for (let i = 1; i <= 3; i++) {
    watch.failed(new Error('Invalid argument'), i * 10_000)
    if (i < 3) t.equal(watch.forbids(i * 10_000 + 6_000), undefined)
  }
  t.match(watch.fault, { isFinal: true, reason: /the daemon restarts/ })
  t.match(watch.forbids(99_000), /the daemon restarts/)
})
