import t from 'tap'
import { silentLog } from '../../../src/base/log.ts'
import type { HealthCheckSetting } from '../../../src/model/health-check.ts'
import type { SectionContents } from '../../../src/model/sections.ts'
import { SandboxWatch } from '../../../src/watches/sandbox-watch.ts'
import { backend, l4Backend } from '../../fixtures/config.ts'
import { viewOf } from '../../fixtures/view.ts'

const ping: HealthCheckSetting = { type: 'script', id: 'ping' }
const radius: HealthCheckSetting = { type: 'script', id: 'radius', parameters: { secretFile: '/etc/secret' } }

function watch(records: SectionContents, answers: readonly (number | Error)[]) {
  const told: object[] = []
  const left = [...answers]
  const tryCheck = async () => {
    const exitCode = left.shift()
    if (exitCode === undefined || exitCode instanceof Error) throw exitCode ?? new Error('nobody should have asked')
    return { exitCode, durationMs: 1, output: 'no namespaces', up: exitCode === 0 }
  }
  const events = { publish: (kind: string, data: object) => void told.push({ kind, ...data }) }
  return {
    told,
    left,
    watch: new SandboxWatch({ running: viewOf(records), facts: { tryCheck }, events, log: silentLog }),
  }
}

t.test('that scripts can no longer run is reported once, and so is their recovery', async (test) => {
  for (const records of [
    { l7Backends: [backend('b', [], { healthCheck: ping })] },
    { l4Backends: [l4Backend('b', [], { healthCheck: radius })] },
  ]) {
    const answers = [0, 125, 125, 137, new Error('busy'), 125, 0, 0]
    const { told, watch: own } = watch(records, answers)
    for (const _ of answers) await own.look()
    test.strictSame(told, [
      { kind: 'node', state: 'health checks do not run', reason: 'no namespaces' },
      { kind: 'node', state: 'health checks run' },
    ])
  }
})

t.test('nothing is tested where balancers check everything themselves', async (test) => {
  const l7Backends = [backend('b', [], { healthCheck: { type: 'http' } })]
  const { left, watch: own } = watch({ l7Backends, l4Backends: [l4Backend('c', [], { healthCheck: ping })] }, [125])
  await own.look()
  test.strictSame(left, [125])
})

t.test('it looks at its start', async (test) => {
  const { left, watch: own } = watch({ l7Backends: [backend('b', [], { healthCheck: ping })] }, [0])
  own.start()
  own.close()
  test.strictSame(left, [])
})
