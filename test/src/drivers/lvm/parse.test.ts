import { readFileSync } from 'node:fs'
import t from 'tap'
import { parseLvs } from '../../../../src/drivers/lvm/parse.ts'

const ROOT = '/dev/mapper/vg0-root'
const report = (...lv: object[]) => JSON.stringify({ report: [{ lv }] })
const root = {
  vg_name: 'vg0',
  lv_name: 'root',
  lv_attr: 'owi-aos---',
  lv_size: '4294967296',
  origin: '',
  data_percent: '',
  lv_time: '2026-01-02 03:04:05 +0000',
  lv_dm_path: ROOT,
  vg_free: '629145600',
  vg_extent_size: '4194304',
}
const snapshot = {
  ...root,
  lv_name: 'fulcrum',
  lv_attr: 'swi-a-s---',
  lv_size: '629145600',
  origin: 'root',
  data_percent: '12.3',
  lv_time: '2026-11-20 19:00:00 +0000',
  lv_dm_path: '/dev/mapper/vg0-fulcrum',
}

t.test('the volume of the root file system, and its snapshot', async (test) => {
  const plain = parseLvs(report(root), ROOT)
  test.match(plain, {
    isSupported: true,
    volume: { group: 'vg0', name: 'root', size_bytes: 4_294_967_296, free_bytes: 629_145_600, extent_bytes: 4_194_304 },
    snapshot: undefined,
  })
  const available = { created: '2026-11-20 19:00:00 +0000', size_bytes: 629_145_600, used: '12.30', state: 'available' }
  test.match(parseLvs(`  WARNING: something\n${report(root, snapshot)}`, ROOT), { snapshot: available })
})

t.test('states: overfull is invalid, a waiting or running restore is merging', async (test) => {
  const stateOf = (...rows: object[]) => {
    const facts = parseLvs(report(...rows), ROOT)
    return facts.isSupported ? facts.snapshot?.state : facts.reason
  }
  test.equal(stateOf(root, { ...snapshot, lv_attr: 'swi-I-s---' }), 'invalid')
  test.equal(
    stateOf({ ...root, lv_attr: 'Owi-aos---' }, { ...snapshot, lv_name: '[fulcrum]', lv_attr: 'Swi-a-s---' }),
    'merging',
  )
  test.equal(stateOf({ ...root, lv_attr: 'Owi-aos---' }), 'merging', 'only the origin shows it')
  test.equal(stateOf(root, { ...snapshot, lv_name: 'other' }), undefined, 'the snapshot of another program')
  test.equal(stateOf(root, { ...snapshot, origin: 'data' }), undefined, 'of another volume')
})

t.test('a volume of the same name that is no snapshot of this one', async (test) => {
  const isTaken = (...rows: object[]) => {
    const facts = parseLvs(report(...rows), ROOT)
    return facts.isSupported && facts.isNameTaken
  }
  test.equal(isTaken(root, snapshot), false, 'our own')
  test.equal(isTaken(root, { ...snapshot, lv_name: 'other' }), false)
  test.equal(isTaken(root, { ...snapshot, vg_name: 'vg1' }), false, 'of another group')
  test.equal(isTaken(root, { ...snapshot, origin: 'data' }), true)
  test.equal(isTaken(root, { ...snapshot, lv_attr: '-wi-ao----', origin: '' }), true)
})

t.test('a root file system elsewhere is no logical volume', async (test) => {
  for (const text of [report(root), report(), '', 'no json {', readFileSync(import.meta.filename, 'utf8')]) {
    test.match(parseLvs(text, '/dev/mapper/crypt'), {
      isSupported: false,
      reason: /crypt, which is not a logical volume/,
    })
  }
})
