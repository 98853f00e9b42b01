import t from 'tap'
import { contentsView } from '../../../src/backup/contents-view.ts'
import { SOME } from '../../backup-fixture.ts'
import { realServer } from '../../config-fixture.ts'
import { viewOf } from '../../view-fixture.ts'

t.test('lists are a configuration; sections that are not given are those of another, or empty', (test) => {
  const view = contentsView({ realServers: [realServer('x')] }, viewOf(SOME))
  test.same(
    [...view.list('realServers')].map(({ id }) => id),
    ['x'],
  )
  test.equal(view.get('l7Backends', 'be')?.name, 'be')
  test.same([...contentsView({}).list('users')], [])
  test.end()
})
