import type { HostSettings } from '../host/host-settings.ts'
import { runProgram } from '../host/linux-host.ts'

/** Path of etcd in `fulcrum-etcd.service`. */
const ETCD_OF_UNIT = '/usr/bin/etcd'
const PATIENCE_MS = 10_000
const NOT_INSTALLED = 127

/** Returns the version of the etcd in these settings; undefined where there is none. */
export async function readEtcdVersion({ etcd }: Pick<HostSettings, 'etcd'>): Promise<string | undefined> {
  const { exitCode, output } = await runProgram([etcd?.program ?? ETCD_OF_UNIT, '--version'], PATIENCE_MS)
  return exitCode === NOT_INSTALLED ? undefined : output
}
