import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { scriptFile } from '../../../src/health-checks/script-files.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('a script is read by its name', async (test) => {
  const folder = temporaryFolder(test, 'scripts')
  writeFileSync(join(folder, 'probe.sh'), '#!/bin/sh\nexit 0 # ü\n')
  test.same(await scriptFile(folder, 'probe.sh'), { script: '#!/bin/sh\nexit 0 # ü\n' })
})

t.test('an invalid script is refused, and the refusal names the folder', async (test) => {
  const folder = temporaryFolder(test, 'scripts')
  mkdirSync(join(folder, 'inner'))
  writeFileSync(join(folder, 'text'), 'echo\n')
  writeFileSync(join(folder, 'bytes'), Buffer.from([0x23, 0x21, 0xff]))
  writeFileSync(join(folder, 'large'), `#!/bin/sh\n${'x'.repeat(256 * 1024)}`)
  symlinkSync('/etc/hostname', join(folder, 'link'))
  execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', join(folder, 'pipe')])
  for (const name of ['none', 'inner', 'text', 'bytes', 'large', 'link', 'pipe']) {
    const found = await scriptFile(folder, name)
    test.match(found, { problem: new RegExp(folder) }, name)
  }
})
