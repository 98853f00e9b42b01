import { canonicalIp } from '../base/ip-network.ts'
import type { ConfigView } from '../model/sections.ts'

/** Whether no node has the address of a frontend, because its floating IP is disabled, as after a full restore. */
export function isResting({ ip: own }: { readonly ip: string }, view: ConfigView): boolean {
  for (const { ip, enabled } of view.list('floatingIps')) {
    if (!enabled && ip === canonicalIp(own)) return true
  }
  return false
}
