import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createLog } from '../../../src/base/log.ts'
import { StoreWatch } from '../../../src/watches/store-watch.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'

t.test('a store that has failed ends the daemon once its disk works, with a message', async (test) => {
  const folder = temporaryFolder(test)
  const lines: string[] = []
  const ended: string[] = []
  let failure: string | undefined
  let stateFolder = join(folder, 'there-is-no-such-folder')
  const watch = new StoreWatch({
    get stateFolder() {
      return stateFolder
    },
    failure: () => failure,
    end: (reason) => void ended.push(reason),
    log: createLog((line) => lines.push(line)),
  })
  await watch.look()
  test.same([lines, ended], [[], []], 'nothing has failed')
  failure = 'the disk failed (Input/output error)'
  await test.rejects(watch.look(), /ENOENT/)
  await test.rejects(watch.look(), /ENOENT/, 'the disk does not work yet')
  test.equal(lines.length, 1, 'told once')
  test.match(lines[0], /"level":"error".*the daemon restarts.*Input\/output error/)
  test.same(ended, [])
  stateFolder = folder
  await watch.look()
  test.same(ended, [failure])
  test.same(readdirSync(folder), [], 'nothing is left of the look')
})
