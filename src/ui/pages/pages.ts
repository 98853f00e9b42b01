import { isOverviewHidden } from '../core/live.ts'
import { may, type Right } from '../core/rights.ts'
import type { IconName } from '../parts/icon.tsx'

export interface PageInfo {
  readonly page: string
  /** Key of a text. */
  readonly title: string
  readonly icon: IconName
  /** One of these rights is required; if empty, everybody may open it. */
  readonly needs: readonly Right[]
}

/** The pages in the order of the menu. */
export const PAGES: readonly PageInfo[] = [
  { page: 'overview', title: 'Overview', icon: 'overview', needs: [] },
  {
    page: 'services',
    title: 'Services',
    icon: 'services',
    needs: ['GET /layer7proxy/frontends', 'GET /ipvsDirector/frontends'],
  },
  { page: 'servers', title: 'Servers', icon: 'servers', needs: ['GET /ipvsDirector/rips'] },
  {
    page: 'traffic',
    title: 'Traffic',
    icon: 'traffic',
    needs: [
      'GET /{applianceId}/layer7proxy/stats/frontends/{id}/history',
      'GET /ipvsDirector/stats/frontends/{id}/history',
      'GET /{applianceId}/layer7proxy/logs',
    ],
  },
  { page: 'certificates', title: 'Certificates', icon: 'certificates', needs: ['GET /certificates/certs'] },
  { page: 'changes', title: 'Changes', icon: 'changes', needs: ['GET /revisions', 'GET /audit'] },
  { page: 'alerts', title: 'Alerts', icon: 'alerts', needs: ['GET /alerts'] },
  { page: 'cluster', title: 'Cluster', icon: 'cluster', needs: ['GET /cluster'] },
  { page: 'node', title: 'Node', icon: 'node', needs: ['GET /services', 'GET /backup', 'GET /backup/list'] },
  { page: 'operations', title: 'Operations', icon: 'operations', needs: [] },
]

export const isOpen = ({ page, needs }: PageInfo): boolean =>
  page === BEGINNING ? !isOverviewHidden.value : needs.length === 0 || may(...needs)

const BEGINNING = 'overview'
/** Returns the first page of a user who may not see the overview. */
export const beginning = (): string => PAGES.find(isOpen)?.page ?? BEGINNING
