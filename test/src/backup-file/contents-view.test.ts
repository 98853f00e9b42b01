import t from 'tap'
import { contentsView } from '../../../src/backup-file/contents-view.ts'
import { SOME } from '../../fixtures/backup.ts'
import { realServer } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

t.test('lists form a configuration; missing sections are those of another, or empty', (test) => {
  const view = contentsView({ realServers: [realServer('x')] }, viewOf(SOME))
  test.same(
    [...view.list('realServers')].map(({ id }) => id),
    ['x'],
  )
  test.equal(view.get('l7Backends', 'be')?.name, 'be')
  test.same([...contentsView({}).list('users')], [])
  test.end()
})
