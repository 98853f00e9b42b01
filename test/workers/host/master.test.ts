import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { askProcesses, reloadThroughMaster, untilProcesses } from '../../../workers/host/master.ts'

/** `show proc` of a master with one worker. */
const processes = (
  reloads: number,
  failed: number,
  worker: number,
): string => `#<PID>          <type>          <reloads>       <uptime>        <version>
100             master          ${reloads} [failed: ${failed}]   0d00h00m27s     2.6.12
# workers
${worker}             worker          0               0d00h00m27s     2.6.12
# programs

`

/** A master whose answers to `show proc` follow one another after `reload`; null hangs up. */
async function masterThat(t: Test, reloadAnswer: string | null, ...after: readonly (string | null)[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-master-'))
  const path = join(folder, 's')
  let script: (string | null)[] = [processes(3, 0, 200)]
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (chunk) => {
      const isReload = chunk.toString() === 'reload\n'
      if (isReload) script = [...after]
      const answer = isReload ? reloadAnswer : script.length > 1 ? script.shift() : script[0]
      if (answer === null || answer === undefined) socket.destroy()
      else socket.end(answer)
    })
  }).listen(path)
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return path
}
const log = async (): Promise<string> => '[ALERT] cannot bind'

t.test('2.6: a new worker means success, however long the master is away', async (t) => {
  const path = await masterThat(t, '\n', null, processes(3, 0, 200), null, processes(4, 0, 300))
  t.strictSame(await reloadThroughMaster(path, 5000, log), { exitCode: 0, output: '' })
})

t.test('2.6: the same worker and a failure mean failure, with the log', async (t) => {
  const path = await masterThat(t, null, processes(4, 1, 200))
  t.strictSame(await reloadThroughMaster(path, 5000, log), { exitCode: 1, output: '[ALERT] cannot bind' })
})

t.test('3.x reports the result itself', async (t) => {
  t.match(await reloadThroughMaster(await masterThat(t, 'Success=1\n--\nfine\n'), 5000, log), { exitCode: 0 })
  const failed = await masterThat(t, 'Success=0\n--\n[ALERT] no\n')
  t.match(await reloadThroughMaster(failed, 5000, log), { exitCode: 1, output: /\[ALERT\] no/ })
})

t.test('a reload without an end', async (t) => {
  const path = await masterThat(t, '\n', processes(3, 0, 200))
  t.match(await reloadThroughMaster(path, 60, log), { exitCode: 124, output: /did not finish.*60 ms\n\[ALERT\]/ })
})

t.test('no master, no reload', async (t) => {
  t.match(await reloadThroughMaster('/nonexistent', 1000, log), { exitCode: 1, output: /no HAProxy master answers/ })
  t.equal(await askProcesses('/nonexistent'), undefined)
  t.equal(await untilProcesses('/nonexistent', 30, () => undefined), undefined)
})
