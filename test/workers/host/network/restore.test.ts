import { join } from 'node:path'
import t from 'tap'
import { NetworkMemory, NOTHING } from '../../../../workers/host/network/memory.ts'
import { restoreNetwork } from '../../../../workers/host/network/restore.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'

/** With a kernel: test/system/network-restore.test.ts. */

const nobody = async () => {
  throw new Error('nothing is to be run')
}

t.test('a node that never had a network here is not even inspected', async (test) => {
  const file = join(temporaryFolder(test, 'restore'), 'network.json')
  const said: string[] = []
  test.equal(await restoreNetwork({ file, run: nobody, say: (line) => said.push(line), wait_ms: 0 }), 0)
  test.same(said, [])
})

t.test('a refusal of the kernel is reported, also by the exit code', async (test) => {
  const file = join(temporaryFolder(test, 'restore'), 'network.json')
  const rule = { priority: 1, from: '10.0.0.5/32', to: undefined, table: 7, suppressPrefixLength: undefined }
  await new NetworkMemory(file).save({ addresses: [], displaced: [], wanted: { ...NOTHING, rules: [rule] } })
  const said: string[] = []
  const run = async () => ({ exitCode: 0, output: '' })
  test.equal(await restoreNetwork({ file, run, say: (line) => said.push(line), wait_ms: 0 }), 1)
  test.match(said, [/^could not restore 0 addresses, 0 routes and 1 rules: the kernel does not accept: rule add/])
})
