import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Run } from '../../workers/host/managed-program.ts'
import { runProgram } from '../../workers/host/linux-host.ts'
import { keepPackage } from '../../workers/uploaded-package.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { packed, type TestPackage } from '../system/apt-repository.ts'

const FILES_MAX = 2

t.test('an uploaded package', async (t) => {
  const work = temporaryFolder(t, 'packages')
  const folder = join(work, 'kept')
  const keep = (text: string) => keepPackage({ text, folder, files_max: FILES_MAX }, runProgram)
  const base64 = async (one: TestPackage) => readFileSync(await packed(work, one)).toString('base64')

  await t.test('is stored completely, for root alone, one file per package', async (t) => {
    t.same(await keep(await base64({ name: 'one', version: '1:1.0' })), { name: 'one', version: '1:1.0', arch: 'all' })
    t.same(readdirSync(folder), ['one_1%3a1.0_all.deb'])
    t.equal(statSync(join(folder, 'one_1%3a1.0_all.deb')).mode & 0o777, 0o600)
    writeFileSync(join(folder, '.half.deb'), 'of an upload that was cut off')
    await keep(await base64({ name: 'one', version: '2.0' }))
    t.same(readdirSync(folder), ['one_2.0_all.deb'], 'the newer one replaces it')
    const lines = (await base64({ name: 'two', version: '1' })).replaceAll(/(.{76})/g, '$1\r\n')
    t.match(await keep(`${lines}\n`), { name: 'two' }, 'in lines, as programs write it')
    t.match(await keep(await base64({ name: 'three', version: '1' })), {
      problem: /2 uploaded packages are already waiting/,
    })
  })

  await t.test('that is invalid, damaged or of another architecture is refused, and nothing of it stays', async (t) => {
    const before = readdirSync(folder)
    const whole = await base64({ name: 'four', version: '1' })
    const bytes = Buffer.from(whole, 'base64')
    const cases: readonly (readonly [text: string, problem: RegExp])[] = [
      [`${whole.slice(0, 8)}-${whole.slice(8)}===`, /base64/],
      ['', /not a Debian package/],
      [Buffer.from('#!/bin/sh').toString('base64'), /not a Debian package/],
      [Buffer.from('!<arch>\nnothing more').toString('base64'), /not a Debian package/],
      [bytes.subarray(0, bytes.length - 100).toString('base64'), /damaged|no Debian package/],
      [await base64({ name: 'five', version: '1', arch: 'mips' }), /architecture mips/],
      [await base64({ name: 'six', version: `1:1${'.0'.repeat(120)}` }), /too long/],
    ]
    for (const [text, problem] of cases) t.match(await keep(text), { problem })
    t.same(readdirSync(folder), before)
  })

  await t.test('that would take the reserve of the disk is refused', async (t) => {
    const text = await base64({ name: 'large', version: '1' })
    const before = readdirSync(folder)
    t.match(await keepPackage({ text, folder, files_max: 9 }, runProgram, async () => false), {
      problem: /disk of the state folder is full/,
    })
    t.same(readdirSync(folder), before)
  })

  await t.test('that unpacks without an end is given up', async (t) => {
    const before = readdirSync(folder)
    const run: Run = async (argv, timeout_ms) => {
      if (!argv.includes('--contents')) return runProgram(argv, timeout_ms)
      t.equal(timeout_ms, 60_000)
      return { exitCode: 124, output: 'killed' }
    }
    const text = await base64({ name: 'bomb', version: '1' })
    t.match(await keepPackage({ text, folder, files_max: 9 }, run), { problem: /more than can be read in 60 s/ })
    t.same(readdirSync(folder), before)
  })
})
