import type { KernelState } from '../../../../workers/host/network/kernel-state.ts'
import type { Link } from '../../../../workers/host/network/links.ts'

export const link = (name: string, isUp = true): Link => ({ id: `${name}-id`, name, isUp, raw: { ifname: name } })

export const address = (ip: string, prefix: number, name = 'eth0', isSecondary = false) => ({
  link: name,
  linkId: `${name}-id`,
  ip,
  prefix,
  isSecondary,
})

/** A kernel with eth0 and eth1, both up. */
export const kernelState = (more: Partial<KernelState> = {}): KernelState => ({
  links: [link('eth0'), link('eth1')],
  addresses: [],
  routes: [],
  rules: [],
  sources: new Set(),
  ...more,
})
