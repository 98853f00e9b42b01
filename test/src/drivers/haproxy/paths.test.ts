import t from 'tap'
import { debianPaths, supervisedPaths } from '../../../../src/drivers/haproxy/paths.ts'

t.test('a supervised HAProxy keeps everything in one folder', (t) => {
  const paths = supervisedPaths('/state/haproxy')
  for (const path of [paths.configFile, paths.masterSocket, paths.statsSocket, paths.peersSocket]) {
    t.match(path, /^\/state\/haproxy\/[a-z]+\.(cfg|sock)$/)
  }
  t.equal(paths.runAs, undefined, 'an ordinary user cannot change accounts')
  t.end()
})

t.test('the paths of Debian’s unit', (t) => {
  const paths = debianPaths('/s')
  t.equal(paths.masterSocket, '/run/haproxy-master.sock')
  t.equal(paths.foundCopy, '/s/haproxy.cfg.before-fulcrum')
  t.equal(paths.stateFile, '/s/haproxy.server-state')
  t.strictSame(paths.runAs, { user: 'haproxy', group: 'haproxy' })
  t.end()
})
