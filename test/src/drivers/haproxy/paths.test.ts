import t from 'tap'
import { DEBIAN_PATHS, supervisedPaths } from '../../../../src/drivers/haproxy/paths.ts'

t.test('a supervised HAProxy keeps everything in one folder', (t) => {
  const paths = supervisedPaths('/state/haproxy')
  for (const path of [paths.configFile, paths.masterSocket, paths.statsSocket, paths.peersSocket]) {
    t.match(path, /^\/state\/haproxy\/[a-z]+\.(cfg|sock)$/)
  }
  t.equal(paths.runAs, undefined, 'an ordinary user cannot change accounts')
  t.end()
})

t.test('the places of Debian’s unit', (t) => {
  t.equal(DEBIAN_PATHS.masterSocket, '/run/haproxy-master.sock')
  t.strictSame(DEBIAN_PATHS.runAs, { user: 'haproxy', group: 'haproxy' })
  t.end()
})
