import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { etcdProgram } from '../../../../src/daemon/nodes/etcd-program.ts'
import { temporaryFolder } from '../../../fixtures/folder.ts'

/** A program that prints the version of an etcd. */
function saying(t: Test, text: string, folder = temporaryFolder(t, 'etcd')): string {
  const program = join(folder, 'etcd')
  writeFileSync(program, `#!/bin/sh\necho '${text}'\n`)
  chmodSync(program, 0o700)
  return program
}

t.test('a named one is accepted or refused, never replaced', async (t) => {
  const program = saying(t, 'etcd Version: 3.5.16')
  t.same(await etcdProgram(program), { program, version: '3.5.16' })
  const old = saying(t, 'etcd Version: 3.4.23')
  await t.rejects(etcdProgram(old), { message: `FULCRUM_ETCD ${old}: etcd 3.4.23 is too old: install ` })
  await t.rejects(
    etcdProgram('/none/etcd'),
    /FULCRUM_ETCD \/none\/etcd: it cannot be run \(ENOENT\), so its version is unknown: install /,
  )
})

t.test("the machine's, when it is new enough; otherwise a downloaded one", async (t) => {
  const folder = temporaryFolder(t, 'etcd')
  const fetched = saying(t, 'etcd Version: 3.5.99', folder)
  const fetch = join(folder, 'fetch.mjs')
  writeFileSync(fetch, `process.stdout.write(${JSON.stringify(`${folder}\n`)})`)
  const { version } = await etcdProgram('etcd', fetch)
  t.ok(Number(version.split('.')[1]) >= 5)
  const path = process.env['PATH']
  t.teardown(() => (process.env['PATH'] = path))
  process.env['PATH'] = temporaryFolder(t, 'empty')
  t.same(await etcdProgram('etcd', fetch), { program: fetched, version: '3.5.99' })
  await t.rejects(etcdProgram('etcd', join(folder, 'none.mjs')), /a cluster needs etcd: it cannot be run \(ENOENT\)/)
  writeFileSync(fetch, 'process.exit(1)')
  await t.rejects(etcdProgram('etcd', fetch), /install it, or name its program with FULCRUM_ETCD/)
})
