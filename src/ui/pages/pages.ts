import type { IconName } from '../parts/icon.tsx'

/** The pages in the order of the menu; titles are keys of texts. */
export const PAGES: readonly { readonly page: string; readonly title: string; readonly icon: IconName }[] = [
  { page: 'overview', title: 'Overview', icon: 'overview' },
  { page: 'services', title: 'Services', icon: 'services' },
  { page: 'servers', title: 'Servers', icon: 'servers' },
  { page: 'traffic', title: 'Traffic', icon: 'traffic' },
  { page: 'certificates', title: 'Certificates', icon: 'certificates' },
  { page: 'changes', title: 'Changes', icon: 'changes' },
  { page: 'alerts', title: 'Alerts', icon: 'alerts' },
  { page: 'node', title: 'Node', icon: 'node' },
  { page: 'operations', title: 'Operations', icon: 'operations' },
]
