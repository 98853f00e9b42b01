import t from 'tap'
import { aptProgress } from '../../../workers/detached/status-fd.ts'

t.test('downloads come before the installation, and other lines are ignored', async (test) => {
  test.same(aptProgress('dlstatus:1:100:Retrieving file 1 of 1'), { share: 0.33, text: 'Retrieving file 1 of 1' })
  test.match(aptProgress('pmstatus:dpkg-exec:0:Running dpkg'), { share: 0.33, text: 'Running dpkg' })
  test.match(aptProgress('pmstatus:haproxy:100.0000:Installed haproxy (amd64)'), { share: 1 })
  for (const line of [
    'pmerror:haproxy:50:failed',
    'pmconffile:/etc/x:50:"a" "b" 1 1',
    'media-change:x',
    '',
    'pmstatus:x:y:z',
  ])
    test.equal(aptProgress(line), undefined, line)
})
