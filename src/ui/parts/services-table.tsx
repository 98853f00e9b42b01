import { effect } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useMemo } from 'preact/hooks'
import { rateOf, serversUp } from '../core/figures.ts'
import { figureOf, frontendsOf, hasFigures, type LayerName, overview, ringOf, tick } from '../core/live.ts'
import { foresee, type Listed, together, useRecords } from '../core/records.ts'
import { hrefOf, route } from '../core/route.ts'
import { isEntering } from '../core/session.ts'
import { short, t } from '../core/text.ts'
import { useFigures } from '../core/wanted.ts'
import { Badge, Button, Empty, type Tone } from './basic.tsx'
import { isPendingOpen } from './pending.tsx'
import { Sparkline } from './sparkline.tsx'
import { type Column, Table } from './table.tsx'

/** A frontend of either layer, with its backend. */
export interface Service {
  readonly layer: LayerName
  readonly id: string
  readonly name: string
  readonly ip: string
  readonly ports: string
  readonly kind: string
  readonly enabled: boolean
  readonly isPaused: boolean
  readonly backendId: string | null
  readonly backend: BackendRecord | undefined
}

export interface Member {
  readonly ripId: string
}
export interface BackendRecord {
  readonly id: string
  readonly name: string
  readonly reals: readonly Member[]
  readonly maintenance?: { readonly enabled: boolean }
}
interface L7Frontend {
  readonly id: string
  readonly name: string
  readonly ip: string
  readonly ports: string
  readonly mode: string
  readonly enabled: boolean
  readonly defaultBackendId: string | null
  readonly maintenance: { readonly enabled: boolean }
}
interface L4Frontend {
  readonly id: string
  readonly name: string
  readonly ip: string
  readonly ports: string
  readonly protocol: string
  readonly enabled: boolean
  readonly backendId: string
}

const PATHS = {
  l7: '/layer7proxy/frontends',
  l4: '/ipvsDirector/frontends',
  backends: '/layer7proxy/backends',
  backends4: '/ipvsDirector/backends',
} as const

const SHOWING: ReadonlySet<string> = new Set(['overview', 'services'])
effect(() => {
  if (isEntering.value && SHOWING.has(route.peek().page)) for (const path of Object.values(PATHS)) foresee(path)
})

/** `isSoon`: for components that show only some services, the first ones as soon as they arrive. */
export function useServices(isSoon = false): {
  /** The services of the lists that have arrived so far. */
  readonly services: readonly Service[]
  /** The services once all visible lists have arrived: without its backend, a service would have no servers. */
  readonly known: readonly Service[] | undefined
  readonly problem: string | undefined
} {
  const of = <T,>(all: Listed<T>): Listed<T> => (isSoon ? { ...all, records: all.records ?? all.first } : all)
  const l7 = of(useRecords<L7Frontend>(PATHS.l7))
  const l4 = of(useRecords<L4Frontend>(PATHS.l4))
  const backends = of(useRecords<BackendRecord>(PATHS.backends))
  const backends4 = of(useRecords<BackendRecord>(PATHS.backends4))
  const services = useMemo(
    () => [...ofLayer7(l7.records, backends.records), ...ofLayer4(l4.records, backends4.records)],
    [l7.records, backends.records, l4.records, backends4.records],
  )
  const [frontends, all] = [together([l7, l4]), together([l7, l4, backends, backends4])]
  const known = frontends.isKnown && all.isKnown ? services : undefined
  return { services, known, problem: frontends.problem ?? all.problem }
}

const byId = (backends: readonly BackendRecord[] | undefined): ReadonlyMap<string, BackendRecord> =>
  new Map((backends ?? []).map((one) => [one.id, one]))

function ofLayer7(
  frontends: readonly L7Frontend[] | undefined,
  backends: readonly BackendRecord[] | undefined,
): readonly Service[] {
  const known = byId(backends)
  return (frontends ?? []).map(({ mode, defaultBackendId, maintenance, ...one }) => ({
    ...one,
    layer: 'layer7',
    kind: mode,
    isPaused: maintenance.enabled,
    backendId: defaultBackendId,
    backend: known.get(defaultBackendId ?? ''),
  }))
}

function ofLayer4(
  frontends: readonly L4Frontend[] | undefined,
  backends: readonly BackendRecord[] | undefined,
): readonly Service[] {
  const known = byId(backends)
  return (frontends ?? []).map(({ protocol, backendId, ...one }) => ({
    ...one,
    layer: 'layer4',
    kind: protocol,
    isPaused: false,
    backendId,
    backend: known.get(backendId),
  }))
}

/** Ids of the objects whose figures `standingOf` and a row need. */
export const idsOf = ({ id, backend }: Service): readonly string[] => (backend === undefined ? [id] : [id, backend.id])

export interface Standing {
  readonly tone: Tone
  readonly word: string
  /** Undefined while unknown. */
  readonly up: number | undefined
  readonly total: number
}

/** Returns the state of a service, mostly by its backend. */
export function standingOf({ layer, id, enabled, isPaused, backend }: Service): Standing {
  const total = backend?.reals.length ?? 0
  const up = serversUp(figureOf(layer, 'backends', backend?.id ?? ''))
  if (!enabled) return { tone: 'idle', word: t('off'), up, total }
  if (isPaused || backend?.maintenance?.enabled === true) return { tone: 'warn', word: t('paused'), up, total }
  if (figureOf(layer, 'frontends', id) === undefined)
    return { tone: 'idle', word: hasFigures.value ? t('not live') : '…', up, total }
  // Without a backend, rules may answer everything.
  if (backend !== undefined && up === undefined) return { tone: 'idle', word: t('unknown'), up, total }
  if (up === 0) return { tone: 'bad', word: t('down'), up, total }
  if ((up ?? 0) < total) return { tone: 'warn', word: t('degraded'), up, total }
  return { tone: 'good', word: t('serving'), up, total }
}

const COLUMNS = (): readonly Column<Service>[] => [
  { id: 'name', title: t('Name'), isWide: true, by: ({ name }) => name, cell: ({ name }) => <bdi>{name}</bdi> },
  {
    id: 'state',
    title: t('State'),
    by: (one) => standingOf(one).word,
    cell: (one) => {
      const { tone, word } = standingOf(one)
      return <Badge tone={tone}>{word}</Badge>
    },
  },
  {
    id: 'address',
    title: t('Address'),
    isMinor: true,
    by: ({ ip, ports }) => `${ip} ${ports}`,
    cell: ({ ip, ports, kind }) => <span class="code">{`${kind} ${ip}:${ports}`}</span>,
  },
  {
    id: 'rate',
    title: t('Per second'),
    isNumber: true,
    by: ({ layer, id }) => rateOf(figureOf(layer, 'frontends', id)) ?? -1,
    cell: ({ layer, id, name }) => (
      <span class="with-line">
        <Sparkline values={ringOf(layer, 'frontends', id)} label={t('Last minute of {name}', { name })} />
        {short(rateOf(figureOf(layer, 'frontends', id)))}
      </span>
    ),
  },
  {
    id: 'servers',
    title: t('Servers'),
    isNumber: true,
    by: (one) => standingOf(one).up ?? -1,
    cell: (one) => {
      const { up, total } = standingOf(one)
      return `${up ?? '–'}/${total}`
    },
  },
]

export function ServicesTable({ services }: { readonly services: readonly Service[] }) {
  useFigures(services.flatMap(idsOf))
  // Figures arrive once a second.
  void tick.value
  return (
    <Table
      label={t('Services')}
      rows={services}
      columns={COLUMNS()}
      keyOf={({ id }) => id}
      hrefOf={({ layer, id }) => hrefOf('services', layer, id)}
    />
  )
}

/** Lists show the candidate: a service that runs only until the next apply is in none of them. */
export function NoServices({ children }: { readonly children?: ComponentChildren }) {
  const running = overview.value === undefined ? 0 : frontendsOf(overview.value)
  if (running === 0) return <Empty title={t('No services yet.')}>{children}</Empty>
  // An observing daemon has no configuration, and no pending change that would end what runs.
  if (overview.value?.pending?.count === 0)
    return (
      <Empty title={t('No services are configured here.')}>
        <p>{t('The overview shows what is running: {count:service|services}.', { count: running })}</p>
      </Empty>
    )
  return (
    <Empty title={t('The next apply removes all services.')}>
      <p>{t('Until then these keep running: {count:service|services}.', { count: running })}</p>
      <Button needs="GET /services/pending" onClick={() => (isPendingOpen.value = true)}>
        {t('Show')}
      </Button>
    </Empty>
  )
}
