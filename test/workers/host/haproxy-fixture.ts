import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { haproxyDriver, type HaproxySurroundings } from '../../../src/drivers/haproxy/driver.ts'
import { type HaproxyPaths, supervisedPaths } from '../../../src/drivers/haproxy/paths.ts'
import type { PlanOptions, PlanResult } from '../../../src/drivers/driver.ts'
import type { ConfigView } from '../../../src/model/sections.ts'
import { executePlan } from '../../../workers/executor.ts'
import type { HostSettings } from '../../../workers/host/host-settings.ts'
import { LinuxHost } from '../../../workers/host/linux-host.ts'

/** A real HAProxy in a temporary folder, not yet started; stopped at the end of the test. */
export function haproxyFixture(t: Test, surroundings?: () => HaproxySurroundings, own: Partial<HaproxyPaths> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-haproxy-'))
  const paths = { ...supervisedPaths(folder), ...own }
  const { program, configFile, masterSocket } = paths
  const layer7proxy = { mode: 'supervised', program, configFile, masterSocket, folder } as const
  const settings: HostSettings = { profile: 'trial', stateFolder: folder, layer7proxy }
  const host = new LinuxHost({ layer7proxy }, folder)
  const driver = haproxyDriver(paths, surroundings)
  t.teardown(async () => {
    await host.unit('layer7proxy', 'stop', 10_000)
    rmSync(folder, { recursive: true, force: true })
  })
  const apply = (running: ConfigView | undefined, desired: ConfigView, atLeast: PlanOptions['atLeast'] = 'runtime') =>
    executePlan(host, driver.plan(running, desired, { atLeast }))
  /** Like the apply engine: changes that the running HAProxy refuses are made by a reload. */
  const applyLikeTheEngine = async (running: ConfigView, desired: ConfigView): Promise<PlanResult> => {
    const result = await apply(running, desired)
    return !result.ok && result.kind === 'socket' ? apply(undefined, desired, 'reload') : result
  }
  const ask = (command: string): Promise<string> => host.socket(masterSocket, command, 5000)
  return { folder, paths, settings, host, driver, apply, applyLikeTheEngine, ask }
}
