import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { isNothing, type Memory, NetworkMemory, NOTHING } from '../../../../workers/host/network/memory.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'

const SOME: Memory = {
  addresses: [{ linkId: 'eth0-id', ip: '10.0.0.5', prefix: 24 }],
  displaced: [{ key: '4 254 0.0.0.0/0 0', family: 4, text: 'default via 10.0.0.1' }],
  wanted: {
    ...NOTHING,
    rules: [{ priority: 1, from: '10.0.0.5/32', to: undefined, table: 7, suppressPrefixLength: 0 }],
  },
}

t.test('saved data are read back, and deleted when nothing is left', async (test) => {
  const path = join(temporaryFolder(test, 'memory'), 'network.json')
  const memory = new NetworkMemory(path)
  test.equal(await memory.load(), undefined)
  await memory.save(SOME)
  test.match(await new NetworkMemory(path).load(), JSON.parse(JSON.stringify(SOME)))
  test.equal(statSync(path).mode & 0o777, 0o600)
  await memory.forget()
  test.notOk(existsSync(path))
  await memory.forget()
})

t.test('unchanged data are not written again', async (test) => {
  const path = join(temporaryFolder(test, 'memory'), 'network.json')
  const memory = new NetworkMemory(path)
  await memory.save(SOME)
  const { ino } = statSync(path)
  await memory.save(SOME)
  test.equal(statSync(path).ino, ino)
})

t.test('after a restart of the machine nothing in the kernel is ours, but the same is wanted', async (test) => {
  const path = join(temporaryFolder(test, 'memory'), 'network.json')
  await new NetworkMemory(path).save(SOME)
  const stored: Record<string, unknown> = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify({ ...stored, start: 'another' }))
  test.match(await new NetworkMemory(path).load(), { addresses: [], displaced: [], wanted: { rules: [{ table: 7 }] } })
})

t.test('nothing is nothing', async (test) => {
  test.ok(isNothing(NOTHING))
  test.notOk(isNothing(SOME.wanted))
})
