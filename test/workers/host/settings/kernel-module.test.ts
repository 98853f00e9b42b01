import { readdirSync } from 'node:fs'
import t from 'tap'
import type { Run } from '../../../../workers/host/managed-program.ts'
import { readModule, writeModule } from '../../../../workers/host/settings/kernel-module.ts'

function recorder(exitCode: number) {
  const ran: (readonly string[])[] = []
  const run: Run = async (argv) => {
    ran.push(argv)
    return { exitCode, output: '' }
  }
  return { ran, run }
}

t.test('an existing module is loaded; another one could be, or not', async (test) => {
  const [present = ''] = readdirSync('/sys/module')
  const loaded = recorder(1)
  test.equal(await readModule(present, loaded.run), 'loaded')
  test.same(loaded.ran, [])
  const absent = recorder(0)
  test.equal(await readModule('no_such_module', absent.run), 'absent')
  test.same(absent.ran, [['modprobe', '--dry-run', '--quiet', 'no_such_module']], 'reading loads nothing')
  test.equal(await readModule('no_such_module', recorder(1).run), undefined)
  test.equal(await readModule('no_such_module', recorder(127).run), undefined)
})

t.test('a module is loaded and never unloaded', async (test) => {
  const { ran, run } = recorder(0)
  test.equal((await writeModule('nf_conntrack', 'loaded', run, 1000)).exitCode, 0)
  test.equal((await writeModule('nf_conntrack', 'absent', run, 1000)).exitCode, 0)
  test.same(ran, [['modprobe', 'nf_conntrack']])
})
