import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Ending } from '../fixtures/folder.ts'
import type { Namespace } from '../system/network-namespace.ts'

const PROGRAM = fileURLToPath(new URL('distant-cable.py', import.meta.url))

/** Why there can be none, or undefined. */
export const cableObstacle = !existsSync('/dev/net/tun')
  ? 'needs /dev/net/tun'
  : spawnSync('python3', ['-V']).status === 0
    ? undefined
    : 'needs python3'

/**
 * A cable from a namespace, or the network of this process, where its end is called `here`, to a namespace, where it is
 * called `there`: each direction takes so many milliseconds.
 */
export async function distantCable(
  test: Ending,
  here: string,
  to: Namespace,
  there: string,
  delay_ms: number,
  from?: Namespace,
): Promise<void> {
  const enter = from === undefined ? [] : ['nsenter', `--net=/run/netns/${from.name}`]
  const [program, ...argv] = [...enter, 'python3', PROGRAM, here, to.name, there, String(delay_ms)]
  const child = spawn(program, argv, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  test.teardown(async () => {
    child.kill()
    await exited
  })
  const said = once(createInterface({ input: child.stdout }), 'line')
  await Promise.race([said, exited.then(() => Promise.reject(new Error('there is no such cable')))])
}
