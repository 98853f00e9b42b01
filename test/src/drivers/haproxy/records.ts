import type { HaproxyPaths } from '../../../../src/drivers/haproxy/paths.ts'

export { type Records, viewOf } from '../../../fixtures/view.ts'

export const PATHS: HaproxyPaths = {
  program: 'haproxy',
  configFile: '/run/fulcrum/haproxy.cfg',
  masterSocket: '/run/fulcrum/master.sock',
  statsSocket: '/run/fulcrum/stats.sock',
  peersSocket: '/run/fulcrum/peers.sock',
  stateFile: '/run/fulcrum/server-state',
  foundCopy: undefined,
  runAs: undefined,
}
