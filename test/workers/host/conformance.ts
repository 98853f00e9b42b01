import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Host } from '../../../src/drivers/host.ts'

/** The behaviour of every host. `host` must have a layer7proxy that is stopped and can be started. */
export async function conforms(t: Test, host: Host): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-host-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'deep', 'file')

  await t.test('files', async (t) => {
    t.equal(await host.readFile(path), undefined, 'a missing file is no error')
    await host.replaceFile(path, 'one\n', 0o600)
    t.equal(await host.readFile(path), 'one\n')
    await host.replaceFile(path, '', 0o600)
    t.equal(await host.readFile(path), '', 'an empty file is a file')
    await host.replaceFile(`${path}.candidate`, 'two é', 0o640)
    await host.renameFile(`${path}.candidate`, path)
    t.equal(await host.readFile(path), 'two é')
    t.equal(await host.readFile(`${path}.candidate`), undefined)
    await t.rejects(host.renameFile(`${path}.candidate`, path), { message: /ENOENT/ })
    t.equal(await host.readFile(path), 'two é', 'and the target stays')
    await host.removeFile(path)
    await host.removeFile(path)
    t.equal(await host.readFile(path), undefined, 'removing twice is no error')
  })

  await t.test('a restored file is as before, or missing', async (t) => {
    const absent = await host.keepFile(path)
    await host.replaceFile(path, 'one\n', 0o644)
    const first = await host.keepFile(path)
    await host.replaceFile(path, 'two\n', 0o644)
    await host.copyFile(path, `${path}.copy`, 0o600)
    await first()
    t.same([await host.readFile(path), await host.readFile(`${path}.copy`)], ['one\n', 'two\n'])
    await host.removeFile(path)
    await first()
    t.equal(await host.readFile(path), 'one\n')
    await absent()
    t.equal(await host.readFile(path), undefined)
  })

  await t.test('programs', async (t) => {
    t.equal(await host.missingProgram('true'), undefined)
    t.strictSame(await host.run(['true'], 5000), { exitCode: 0, output: '' })
  })

  await t.test('units', async (t) => {
    const states: string[] = []
    for (const verb of [
      'start',
      'start',
      'reload',
      'restart',
      'stop',
      'stop',
      'reload',
      'stop',
      'restart',
      'stop',
    ] as const) {
      const { exitCode, output } = await host.unit('layer7proxy', verb, 20_000)
      t.equal(exitCode, 0, `${verb}: ${output}`)
      states.push(await host.unitState('layer7proxy'))
    }
    t.strictSame(states, [
      'running',
      'running',
      'running',
      'running',
      'stopped',
      'stopped',
      'running',
      'stopped',
      'running',
      'stopped',
    ])
  })
}
