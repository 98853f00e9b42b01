import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Daemon } from '../fixtures/daemon.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { compared } from './imported-site.ts'

/**
 * Whole files, each in the manner of many published ones: HAProxy accepts their import, which answers as the file did.
 * FULCRUM_TEST_CFG_FOLDER has more of them, whose differences are reported for a reader to judge.
 */

const FILES = fileURLToPath(new URL('../fixtures/haproxy-cfg', import.meta.url))
const MORE = process.env['FULCRUM_TEST_CFG_FOLDER']
/** Files that today's HAProxy does not accept, or not without files that are missing here. */
const NOT_RUN: ReadonlySet<string> = new Set(['of-its-time.cfg', 'guarded.cfg'])
/** Number of lines that are reported as not understood. */
const LEFT: Readonly<Record<string, number>> = { 'of-its-time.cfg': 4, 'guarded.cfg': 20 }

t.test('files of several kinds answer as before', async (test) => {
  const daemon = new Daemon(temporaryFolder(test, 'daemon'), ['--no-demo'])
  test.teardown(() => daemon.end())
  await daemon.start()
  await daemon.login()
  for (const name of readdirSync(FILES)) {
    const { fault, asked, differences, notUnderstood } = await compared(
      test,
      daemon,
      readFileSync(join(FILES, name), 'utf8'),
    )
    test.equal(notUnderstood.length, LEFT[name] ?? 0, `${name}: ${JSON.stringify(notUnderstood)}`)
    test.equal(fault !== undefined, NOT_RUN.has(name), `${name}: ${fault ?? 'HAProxy accepts it'}`)
    if (fault === undefined) test.ok(asked > 0, `${name} was asked ${asked} times`)
    test.same(differences, [], name)
  }
  for (const name of MORE === undefined ? [] : readdirSync(MORE)) {
    const { fault, differences, ...told } = await compared(test, daemon, readFileSync(join(MORE ?? '', name), 'utf8'))
    const difference = differences.length === 0 ? '' : JSON.stringify(differences[0])
    test.comment(`${name}: ${fault ?? `asked ${told.asked}, differed ${differences.length} ${difference}`}`)
    for (const { line, text, why } of told.notUnderstood) test.comment(`  ${line} ${text}: ${why}`)
  }
})
