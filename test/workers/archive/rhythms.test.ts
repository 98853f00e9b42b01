import t from 'tap'
import { TIERS, TWO_SECOND_TIERS } from '../../../storage/archive/tiers.ts'
import { haproxyRhythm, ipvsRhythm } from '../../../workers/archive/rhythms.ts'

t.test('the same retention at both rhythms, half a second apart', (t) => {
  const haproxy = haproxyRhythm({ kind: 'stats-socket', path: '/nonexistent' })
  const ipvs = ipvsRhythm({ kind: 'ipvs', fd: undefined })
  t.equal(ipvs.offset_ms - haproxy.offset_ms, 500)
  const kept = (tiers: typeof haproxy.tiers, step_s: number) => tiers.map((tier) => tier.rows * tier.step_s * step_s)
  t.strictSame(kept(TWO_SECOND_TIERS, ipvs.step_s), kept(TIERS, haproxy.step_s))
  const steps = ipvs.tiers.map(({ step_s }) => step_s * ipvs.step_s)
  t.strictSame(steps, [2, 10, 60, 300, 3_600])
  t.end()
})
