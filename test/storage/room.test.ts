import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { FileRoom, makeLockFile, NoRoomError } from '../../storage/room.ts'

const MIB = 1_024 * 1_024

t.test('room is made before it is needed, and only then', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'room-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const path = join(directory, 'data.mdb')
  writeFileSync(path, 'used')
  let used = 4
  const room = new FileRoom(directory, () => used)
  room.ensure(3 * MIB)
  const first = statSync(path).size
  t.ok(first >= used + 6 * MIB && first < used + 8 * MIB, 'twice the needed size, in whole pieces')
  used += MIB / 2
  room.ensure(3 * MIB)
  t.ok(statSync(path).size - first <= MIB, 'no more than was used up, in whole pieces')
  const second = statSync(path).size
  room.ensure(MIB)
  t.equal(statSync(path).size, second, 'less is there already')
  t.equal(room.refusal, undefined)
})

t.test('a device without space refuses before anything else is written', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'room-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  symlinkSync('/dev/full', join(directory, 'data.mdb'))
  const room = new FileRoom(directory, () => 0)
  t.throws(() => room.ensure(1), new NoRoomError('the disk is full'))
  t.equal(room.refusal, 'the disk is full')
})

t.test('a file that cannot be opened for writing is not left to LMDB, however much space there is', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'room-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  // Of files that a disk refuses to open for writing, the one that needs no mount.
  mkdirSync(join(directory, 'data.mdb'))
  writeFileSync(join(directory, 'data.mdb', 'something'), '')
  const room = new FileRoom(directory, () => 0)
  t.throws(() => room.ensure(1), new NoRoomError('its file cannot be written (EISDIR)'))
})

t.test('the lock file is complete before LMDB maps it, and created once', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'room-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  makeLockFile(directory)
  const { size, mode, mtimeMs } = statSync(join(directory, 'lock.mdb'))
  t.strictSame([size, mode & 0o777], [8_192, 0o600])
  makeLockFile(directory)
  t.equal(statSync(join(directory, 'lock.mdb')).mtimeMs, mtimeMs)
  t.throws(() => makeLockFile(join(directory, 'none')), /lock.mdb cannot be created/)
})
