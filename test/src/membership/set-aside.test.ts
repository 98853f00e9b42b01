import { readFileSync, statSync } from 'node:fs'
import t from 'tap'
import { isConfiguration, setAside } from '../../../src/membership/set-aside.ts'
import { openStore } from '../../fixtures/config.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { staged } from '../../fixtures/cluster-in-memory.ts'

t.test('changes set aside are a file for its owner only', async (t) => {
  const state = openStore(t).folding.snapshot()
  const folder = temporaryFolder(t, 'state')
  const what = { clusterId: 'c', nodeId: 'a', since: 3, takeovers: [], entries: [], isWhole: true, state }
  const path = await setAside(folder, { ...what, at: '2026-01-02T03:04:05.678Z' })
  t.match(path, /set-aside\/history-20260102T030405678Z\.json$/)
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.match(JSON.parse(readFileSync(path, 'utf8')), what)
})

t.test('edits of users are configuration; logins and reports of nodes are not', async (t) => {
  const put = (table: 'apiTokens' | 'sessions' | 'members') => ({ op: 'put', table, puts: [], removed: [] }) as const
  t.ok(isConfiguration(staged('a', 1)))
  t.ok(isConfiguration(put('apiTokens')))
  t.notOk(isConfiguration(put('sessions')))
  t.notOk(isConfiguration(put('members')))
  t.notOk(isConfiguration({ op: 'level', level: 2 }))
})
