import type { ConfigView } from '../../model/sections.ts'
import type { Driver, Step } from '../driver.ts'
import { nodeIn } from '../this-node.ts'

const TIMEOUT_MS = 10_000

/** The time zone of one node. */
export function timedateDriver(nodeId: string): Driver {
  const zoneOf = (view: ConfigView) => view.get('clocks', nodeIn(view, nodeId))?.timezone ?? ''
  return {
    name: 'timezone',
    sections: ['clocks'],
    prepare: () => [],
    verify: () => [],
    plan(running, desired) {
      const before = running === undefined ? undefined : zoneOf(running)
      const zone = zoneOf(desired)
      if (zone === before || (zone === '' && before === undefined)) return []
      return [zoneStep(zone === '' ? undefined : zone)]
    },
    effectOf({ section, id, before, after }, _, desired) {
      if (section !== 'clocks' || id !== nodeIn(desired, nodeId)) return undefined
      return (before?.timezone ?? '') === (after?.timezone ?? '') ? undefined : 'runtime'
    },
    render: () => [],
    diagnose: () => [],
  }
}

function zoneStep(value: string | undefined): Step {
  const why = value === undefined ? 'restore the time zone as it was found' : `set the time zone to ${value}`
  return { kind: 'setting', why, timeout_ms: TIMEOUT_MS, setting: { kind: 'timezone' }, value, isOptional: false }
}
