import t from 'tap'
import { checkFiles, checkTidying, checkWrites } from '../../../../src/drivers/keepalived/check-files.ts'
import type { HealthCheckSetting } from '../../../../src/model/health-check.ts'
import type { L4Backend } from '../../../../src/model/layer4.ts'
import { ownCheck } from '../../../fixtures/health-check.ts'
import { viewOf } from '../../../fixtures/view.ts'

const backend = (id: string, healthCheck: HealthCheckSetting): L4Backend => ({
  id,
  name: id,
  scheduler: 'wlc',
  persistTimeout: 0,
  persistMask: null,
  reals: [],
  healthCheck,
  fallback: null,
})
const view = viewOf({ healthChecks: [ownCheck('own')] })
const own = { backend: backend('a', { type: 'script', id: 'own' }) }
const radius = { backend: backend('b', { type: 'script', id: 'radius', parameters: { secretFile: '/etc/secret' } }) }
const native = { backend: backend('c', { type: 'tcp' }) }
const FOLDER = '/etc/keepalived/fulcrum-checks'

t.test('only checks that keepalived does not support have files, each backend once', async (test) => {
  test.strictSame(checkFiles([native], view), [])
  test.strictSame(
    checkFiles([own, own, native, radius], view).map(({ path }) => path),
    ['backend-a', 'backend-b', 'sandbox', 'script-own', 'script-radius'].map((name) => `${FOLDER}/${name}`),
  )
})

t.test('without such checks nothing is done', async (test) => {
  const from = { served: [native], view }
  test.strictSame(checkWrites(undefined, from), [])
  test.strictSame(checkWrites(from, from), [])
  test.strictSame(checkTidying(from, from), [])
})

t.test('unused files are deleted, and with the last service all of them', async (test) => {
  const running = { served: [own], view }
  const kept = (served: readonly (typeof own)[]) => checkTidying(running, { served, view })
  test.match(kept([radius]), [{ names: ['backend-b', 'sandbox', 'script-radius'] }])
  test.match(kept([]), [{ kind: 'keepOnly', folder: FOLDER, names: [] }])
})

t.test('another text of a script replaces a file', async (test) => {
  const changed = viewOf({ healthChecks: [ownCheck('own', { script: '#!/bin/sh\nexit 1\n' })] })
  test.match(checkWrites({ served: [own], view }, { served: [own], view: changed }), [
    { kind: 'replaceFile', path: `${FOLDER}/script-own` },
  ])
})
