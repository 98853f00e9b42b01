import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { descriptorChannel, descriptorOf } from '../../../src/ipvs/descriptor.ts'

const execute = promisify(execFile)
const path = (name: string) => fileURLToPath(new URL(`../../../${name}`, import.meta.url))

t.test('the launcher passes the descriptor number', (t) => {
  t.equal(descriptorOf('fd:7'), 7)
  for (const text of [undefined, '', '7', 'fd:', 'fd:-1', 'fd:99999', 'fd:7 ']) t.equal(descriptorOf(text), undefined)
  t.end()
})

t.test('a descriptor without a socket is a reason, not a crash', (t) => {
  const channel = descriptorChannel(9_999)
  t.throws(() => channel.write(new Uint8Array(4)), { message: 'its socket failed (EBADF)' })
  t.throws(() => channel.read(new Uint8Array(4)), { message: 'its socket failed (EBADF)' })
  t.end()
})

t.test('this kernel answers over the socket of the launcher', async (t) => {
  const { stdout } = await execute(path('systemd/notify-exec'), [
    process.execPath,
    path('test/simulators/ipvs-dump.ts'),
  ])
  const { failure } = JSON.parse(stdout)
  // With or without IPVS, with or without the right to read it: the kernel has understood the request.
  t.ok(failure === null || /this kernel has no IPVS|CAP_NET_ADMIN/.test(failure), failure)
})

t.test('without the launcher there is no socket, and an inherited setting is not trusted', async (t) => {
  const bare = execute(process.execPath, [path('test/simulators/ipvs-dump.ts')], { env: {} })
  await t.rejects(bare, /there is no socket/)
  const env = { PATH: '/usr/bin:/bin', FULCRUM_GENETLINK: 'fd:77' }
  const { stdout } = await execute(path('systemd/notify-exec'), ['printenv', 'FULCRUM_GENETLINK'], { env })
  t.match(stdout, /^fd:\d+\n$/)
  t.not(stdout, 'fd:77\n')
})
