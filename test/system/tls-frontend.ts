import { execFile } from 'node:child_process'
import type { Test } from 'tap'
import type { HaproxyPaths } from '../../src/drivers/haproxy/paths.ts'
import type { Certificate } from '../../src/model/certificates.ts'
import type { L7Frontend } from '../../src/model/layer7.ts'
import { frontend } from '../fixtures/config.ts'
import { freePort } from '../fixtures/traffic.ts'
import { type Records, viewOf } from '../fixtures/view.ts'
import { haproxyFixture } from '../workers/host/haproxy-fixture.ts'

/** Returns the output of a program, whatever its exit code. */
export const output = (program: string, ...argv: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    const child = execFile(program, argv, { timeout: 60_000 }, (_, stdout, stderr) => resolve(`${stdout}${stderr}`))
    child.stdin?.end()
  })
export const client = (port: number, ...argv: readonly string[]) =>
  output('openssl', 's_client', '-connect', `127.0.0.1:${port}`, ...argv)
export const subjectOf = (text: string) => /^subject=.*CN ?= ?(.*)$/m.exec(text)?.[1]

/** A HAProxy with one frontend that presents these certificates. */
export async function listening(
  test: Test,
  certificates: readonly Certificate[],
  more: Partial<L7Frontend> = {},
  records: Records = {},
  own: Partial<HaproxyPaths> = {},
) {
  const made = haproxyFixture(test, undefined, own)
  const port = await freePort()
  const view = (now: readonly Certificate[], then: Partial<L7Frontend> = {}) =>
    viewOf({
      certificates: [...now],
      l7Frontends: [
        frontend('f', null, { ports: String(port), certificates: certificates.map(({ id }) => id), ...more, ...then }),
      ],
      ...records,
    })
  const desired = view(certificates)
  test.match(await made.apply(undefined, desired), { ok: true })
  return { ...made, port, view, desired }
}
