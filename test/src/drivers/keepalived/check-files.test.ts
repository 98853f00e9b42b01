import t from 'tap'
import { checkFiles, checkSteps } from '../../../../src/drivers/keepalived/check-files.ts'
import type { HealthCheckSetting } from '../../../../src/model/health-check.ts'
import type { L4Backend } from '../../../../src/model/layer4.ts'
import { ownCheck } from '../../../health-check-fixture.ts'
import { viewOf } from '../../../view-fixture.ts'

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

t.test('only what keepalived cannot do itself has files, each backend once', async (test) => {
  test.strictSame(checkFiles([native], view), [])
  test.strictSame(
    checkFiles([own, own, native, radius], view).map(({ path }) => path),
    ['backend-a', 'backend-b', 'sandbox', 'script-own', 'script-radius'].map((name) => `${FOLDER}/${name}`),
  )
})

t.test('without such checks nothing is done', async (test) => {
  test.strictSame(checkSteps([native], view, undefined), [])
  test.strictSame(checkSteps([native], view, { served: [native], view }), [])
})

t.test('what runs keeps its files until the next change, and loses them with the last service', async (test) => {
  const kept = (served: readonly (typeof own)[]) => checkSteps(served, view, { served: [own], view }).at(-1)
  test.match(kept([radius]), { names: ['backend-b', 'sandbox', 'script-radius', 'backend-a', 'script-own'] })
  test.match(kept([]), { kind: 'keepOnly', folder: FOLDER, names: [] })
  test.match(checkSteps([radius], view, undefined).at(-1), { names: ['backend-b', 'sandbox', 'script-radius'] })
})

t.test('another text of a script is a file that is replaced', async (test) => {
  const running = { served: [own], view }
  const changed = viewOf({ healthChecks: [ownCheck('own', { script: '#!/bin/sh\nexit 1\n' })] })
  test.match(checkSteps([own], changed, running), [
    { kind: 'replaceFile', path: `${FOLDER}/script-own` },
    { kind: 'keepOnly' },
  ])
})
