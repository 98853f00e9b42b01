import t from 'tap'
import {
  createArgv,
  mebibytes,
  mergeArgv,
  pollArgv,
  removeArgv,
  snapshotSize,
} from '../../../../src/drivers/lvm/commands.ts'

const MEBIBYTE = 1024 * 1024
const volume = (size_mib: number, free_mib: number) => ({
  group: 'vg0',
  name: 'root',
  size_bytes: size_mib * MEBIBYTE,
  free_bytes: free_mib * MEBIBYTE,
  extent_bytes: 4 * MEBIBYTE,
})

t.test('the size: the origin, or the free space in whole extents, and at least a tenth', async (test) => {
  test.equal(snapshotSize(volume(1000, 5000)), 1000 * MEBIBYTE)
  test.equal(snapshotSize(volume(1000, 503)), 500 * MEBIBYTE)
  test.equal(snapshotSize(volume(1000, 100)), 100 * MEBIBYTE)
  test.match(snapshotSize(volume(1000, 99)), /99\.00 MiB free, but a snapshot of 1000\.00 MiB needs 100\.00 MiB/)
  test.type(snapshotSize(volume(1, 0)), 'string')
})

t.test('programs ask no questions, and name group and volume', async (test) => {
  const root = volume(1, 1)
  test.equal(mebibytes(600 * MEBIBYTE), '600.00 MiB')
  test.same(
    [createArgv(root, 5), mergeArgv(root), removeArgv(root), pollArgv(root)].map((argv) => argv.join(' ')),
    [
      'lvcreate --yes --snapshot --name fulcrum --size 5b vg0/root',
      'lvconvert --yes --merge vg0/fulcrum',
      'lvremove --yes vg0/fulcrum',
      'lvchange --poll y vg0/root',
    ],
  )
})
