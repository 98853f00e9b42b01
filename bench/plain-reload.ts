/**
 * Time that HAProxy itself needs for a reload: a copy of the daemon's file in a separate HAProxy, without Fulcrum. The
 * benchmark asks its master as the daemon does; the reload is complete when a new worker answers.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { infoField } from '../src/drivers/haproxy/cli.ts'
import { STATE_FILE } from '../src/drivers/haproxy/paths.ts'
import { freePort } from '../test/fixtures/traffic.ts'
import { ask } from '../test/system/plain-haproxy.ts'
import { timed } from './measure.ts'

const LOOK_MS = 2
/** HAProxy takes some seconds with 100,000 servers. */
const LOADED_MS_MAX = 120_000

export interface PlainReload {
  /** Returns the milliseconds until a new worker answers. */
  reload(): Promise<number>
  stop(): Promise<void>
}

/** `port` is the port in the file, and `folder` that of the daemon's HAProxy. */
export async function plainReload(folder: string, port: string): Promise<PlainReload> {
  const own = mkdtempSync(join(tmpdir(), 'fulcrum-plain-'))
  const text = readFileSync(join(folder, 'haproxy.cfg'), 'utf8')
  const file = join(own, 'haproxy.cfg')
  writeFileSync(file, text.replaceAll(folder, own).replace(`:${port}\n`, `:${await freePort()}\n`))
  copyFileSync(join(folder, STATE_FILE), join(own, STATE_FILE))
  for (const name of ['certs', 'maps', 'checks']) mkdirSync(join(own, name))
  const master = join(own, 'master.sock')
  const haproxy = spawn('haproxy', ['-W', '-S', `${master},mode,600`, '-f', file], { stdio: 'ignore' })
  const ended = once(haproxy, 'exit')
  const worker = async () => infoField(await ask(master, '@1 show info').catch(() => ''), 'Pid')
  const untilAnother = async (before: string | undefined): Promise<string> => {
    for (const from_ms = performance.now(); performance.now() - from_ms < LOADED_MS_MAX; await sleep(LOOK_MS)) {
      if (haproxy.exitCode !== null) throw new Error(`HAProxy ended with ${haproxy.exitCode}`)
      const pid = await worker()
      if (pid !== undefined && pid !== before) return pid
    }
    throw new Error('HAProxy did not reload in time')
  }
  let current = await untilAnother(undefined)
  return {
    reload: () =>
      timed(async () => {
        await ask(master, 'reload').catch(() => '')
        current = await untilAnother(current)
      }),
    async stop() {
      haproxy.kill()
      await ended
      rmSync(own, { recursive: true, force: true })
    },
  }
}
