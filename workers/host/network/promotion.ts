import type { Run } from '../managed-program.ts'

/**
 * When the first IPv4 address of a subnet is removed, the kernel removes the others of that subnet with it, unless it
 * is set to promote the next one. It is set so only during `work`: foreign addresses must stay.
 */
export async function keepingSecondaries<T>(
  links: readonly string[],
  run: Run,
  timeout_ms: number,
  work: () => Promise<T>,
): Promise<T> {
  const switched: string[] = []
  for (const link of links) {
    const path = `/proc/sys/net/ipv4/conf/${link}/promote_secondaries`
    const values = await run(['cat', path, '/proc/sys/net/ipv4/conf/all/promote_secondaries'], timeout_ms)
    if (values.exitCode !== 0 || values.output.includes('1')) continue
    const written = await write(path, '1', run, timeout_ms)
    if (written) switched.push(path)
  }
  try {
    return await work()
  } finally {
    for (const path of switched) await write(path, '0', run, timeout_ms)
  }
}

async function write(path: string, value: string, run: Run, timeout_ms: number): Promise<boolean> {
  const { exitCode } = await run(['tee', path], timeout_ms, { input: value, isUnconfined: true })
  return exitCode === 0
}
