import type { Folders, HaproxyPaths } from '../../../../src/drivers/haproxy/paths.ts'

export { type Records, viewOf } from '../../../fixtures/view.ts'

export const PATHS: HaproxyPaths = {
  program: 'haproxy',
  configFile: '/run/fulcrum/haproxy.cfg',
  masterSocket: '/run/fulcrum/master.sock',
  statsSocket: '/run/fulcrum/stats.sock',
  peersSocket: '/run/fulcrum/peers.sock',
  challengeSocket: '/run/fulcrum/acme.sock',
  stateFile: '/run/fulcrum/server-state',
  foundCopy: undefined,
  runAs: undefined,
}

export const FOLDERS: Folders = {
  certificates: '/certs',
  maps: '/maps',
  sockets: '/run/haproxy',
  challenges: '/run/fulcrum/acme.sock',
  account: 'haproxy',
}
