import { join } from 'node:path'
import t from 'tap'
import { lockState } from '../../src/state-lock.ts'
import { temporaryFolder } from '../config-fixture.ts'

t.test('a second daemon on one state folder is refused, by any of its names', async (test) => {
  const folder = join(temporaryFolder(test, 'lock'), 'state')
  const lock = await lockState(folder)
  await test.rejects(lockState(folder), /another daemon is using the state folder/)
  await test.rejects(lockState(join(folder, '..', 'state')), /another daemon/)
  await new Promise((resolve) => lock.close(resolve))
  const again = await lockState(folder)
  await new Promise((resolve) => again.close(resolve))
})
