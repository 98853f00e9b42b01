import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { MAIN } from '../../fixtures/daemon.ts'
import { finished } from '../../system/debian-tree.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

const check = (profile: string, state: string, ...more: readonly string[]) => {
  const [flags, main] = [MAIN.slice(0, -1), join(ROOT, MAIN.at(-1) ?? '')]
  return finished(process.execPath, [...flags.map(inRoot), main, '--profile', profile, '--state', state, ...more])
}
const inRoot = (flag: string) => (flag.startsWith('./') ? join(ROOT, flag) : flag)
const PEER = ['--peer', '127.0.0.1:9444'] as const

t.test('a witness does not start on the folder of a node, nor a node on that of a witness', async (t) => {
  const state = temporaryFolder(t, 'state')
  t.match(await check('witness', state, ...PEER, '--check'), {
    exitCode: 0,
    stdout: 'it is not the witness of a cluster\n',
  })
  mkdirSync(join(state, 'cluster'))
  writeFileSync(join(state, 'cluster', 'witness.json'), '{}')
  const node = await check('trial', state, '--check')
  t.match(node, { exitCode: 1, stderr: /belongs to a witness; start it with --profile witness/ })
  writeFileSync(join(state, 'cluster', 'membership.json'), '{}')
  const witness = await check('witness', state, ...PEER)
  t.match(witness, { exitCode: 1, stderr: /belongs to a node in a cluster/ })
  const nowhere = await check('witness', join(state, 'none'), ...PEER, '--check')
  const long = join(state, 'x'.repeat(90))
  mkdirSync(long)
  t.match(await check('witness', long, ...PEER), { exitCode: 2, stderr: /too long for the socket of etcd/ })
  t.match(nowhere, { exitCode: 1, stderr: /there is nothing in/ })
})
