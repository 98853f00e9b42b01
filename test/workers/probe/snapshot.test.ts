import t from 'tap'
import { runProgram } from '../../../workers/host/linux-host.ts'
import { readVolume } from '../../../workers/probe/snapshot.ts'
import { LvmSimulator } from '../../simulators/lvm-simulator.ts'

t.test('the volume of the root file system, or why there is none', async (test) => {
  test.match(await readVolume(new LvmSimulator().run), { isSupported: true, volume: { group: 'vg0', name: 'root' } })
  const missing = new LvmSimulator({ missing: ['lvs'] })
  test.same(await readVolume(missing.run), { isSupported: false, reason: 'lvm2 is not installed' })
  const plain = await readVolume(async () => ({ exitCode: 0, output: '/dev/sda1' }))
  test.match(plain, { isSupported: false, reason: /on \/dev\/sda1, which/ })
  const broken = await readVolume(async ([program]) =>
    program === 'findmnt' ? { exitCode: 0, output: '/dev/mapper/x' } : { exitCode: 5, output: 'no' },
  )
  test.match(broken, { isSupported: false, reason: 'lvs failed: no' })
})

t.test('this machine answers one way or the other', async (test) => {
  test.type((await readVolume(runProgram)).isSupported, 'boolean')
})
