import { eventLineOf } from '../core/event-line.ts'
import { type Attention, type Happened, overview, type Overview, type Revision } from '../core/live.ts'
import { serversChecked } from '../core/figures.ts'
import { may } from '../core/rights.ts'
import { hrefOf } from '../core/route.ts'
import { ago, bytes, short, t } from '../core/text.ts'
import { Answered } from '../parts/answered.tsx'
import { Badge, Button, Card, Loading, PageHead, Tile, type Tone } from '../parts/basic.tsx'
import { Icon } from '../parts/icon.tsx'
import { isPendingOpen } from '../parts/pending.tsx'
import { isPublishOpen } from '../parts/publish.tsx'
import { NoServices, type Service, ServicesTable, useServices } from '../parts/services-table.tsx'

const TONES: Readonly<Record<string, Tone>> = { critical: 'bad', warning: 'warn', info: 'info' }
const PAGES: Readonly<Record<string, string>> = {
  certificates: 'certificates',
  acmeOrders: 'certificates',
  l7Backends: 'services',
  l4Backends: 'services',
}

/** The state of the whole system, and what needs attention. */
export function OverviewPage() {
  const now = overview.value
  const { services, known, problem } = useServices(true)
  const seesServices = may('GET /layer7proxy/frontends', 'GET /ipvsDirector/frontends')
  if (now === undefined) return <Loading />
  const checked = serversChecked([now.layer7.reals, now.layer4.reals])
  return (
    <>
      <PageHead
        title={t('Overview')}
        hint={t('{name}, version {version}', {
          name: now.nodes.find(({ isSelf }) => isSelf)?.name ?? '',
          version: now.version,
        })}
      >
        <Button kind="main" icon="plus" needs="POST /config/plan" onClick={() => (isPublishOpen.value = true)}>
          {t('Publish a service')}
        </Button>
      </PageHead>
      {now.attention.length > 0 ? (
        <Needs attention={now.attention} more={now.more} />
      ) : services.length === 0 || !isEachKnown(now, services) ? null : (
        <p class="all-well">
          <Icon name="check" />{' '}
          {t('Everything is up: {count:service|services}.', {
            count: now.layer7.frontends.up + now.layer4.frontends.up,
          })}
        </p>
      )}
      <div class="tiles">
        <Tile
          title={t('Requests per second')}
          value={short(now.layer7.traffic.requestsPerSecond)}
          more={t('Layer 7')}
        />
        <Tile
          title={t('Open sessions')}
          value={short(sum(now.layer7.traffic.sessions, now.layer4.traffic.sessions))}
          more={t('Both layers')}
        />
        <Tile
          title={t('Servers up')}
          value={checked.known === 0 ? '–' : `${checked.up} / ${checked.known}`}
          more={
            checked.unknown === 0
              ? t('{count} down', { count: checked.down })
              : t('{count} down, {unknown} unknown', { count: checked.down, unknown: checked.unknown })
          }
        />
        <Tile
          title={t('Disk free')}
          value={bytes(now.disk?.available)}
          more={now.disk === null ? '' : t('of {size}', { size: bytes(now.disk.size) })}
        />
      </div>
      <div class="columns">
        {seesServices ? (
          <Card title={t('Services')} more={<a href={hrefOf('services')}>{t('All')}</a>}>
            <Answered of={known} problem={problem}>
              {(all) => (all.length === 0 ? <FirstSteps /> : <ServicesTable services={firstOf(all, now.attention)} />)}
            </Answered>
          </Card>
        ) : null}
        <div class="stack">
          {now.revisions === null ? null : (
            <Card title={t('Revisions')} more={<a href={hrefOf('changes', 'revisions')}>{t('All')}</a>}>
              <Revisions revisions={now.revisions} />
            </Card>
          )}
          {now.events === null ? null : (
            <Card title={t('Events')}>
              <Events events={now.events} />
            </Card>
          )}
        </div>
      </div>
    </>
  )
}

/** Just after an apply, the figures are still those of a program that knew no such service. */
function isEachKnown({ layer7, layer4 }: Overview, services: readonly Service[]): boolean {
  const served = services.filter(({ enabled, isPaused }) => enabled && !isPaused)
  const known = [layer7, layer4].reduce((sum, { frontends: { up, down } }) => sum + up + down, 0)
  return known >= served.length
}

const SERVICES = 15

/** Returns services that need attention, then others; the full list has its own page. */
function firstOf(services: readonly Service[], attention: readonly Attention[]): readonly Service[] {
  if (services.length <= SERVICES) return services
  const troubled = new Set(attention.map(({ resourceId }) => resourceId))
  const rankOf = ({ id, enabled, isPaused, backend }: Service): number => {
    if (!enabled) return 3
    if (troubled.has(id) || troubled.has(backend?.id ?? null)) return 0
    return isPaused || backend?.reals.some(({ ripId }) => troubled.has(ripId)) === true ? 1 : 2
  }
  return services
    .map((one) => [rankOf(one), one] as const)
    .toSorted(([a], [b]) => a - b)
    .slice(0, SERVICES)
    .map(([, one]) => one)
}

const sum = (a: number | null, b: number | null): number | null =>
  a === null && b === null ? null : (a ?? 0) + (b ?? 0)

/** The bar counts the seconds, which a text that is read now and then would not follow. */
function waitingText(): string | undefined {
  const { state, revision, by, secondsLeft } = overview.value?.apply ?? {}
  if (state !== 'waiting' || secondsLeft === 0) return undefined
  return t('Revision {revision} by {by} is reverted unless you confirm it.', { revision: revision ?? '', by: by ?? '' })
}

const Needs = ({ attention, more }: { readonly attention: readonly Attention[]; readonly more: number }) => (
  <section class="needs" aria-label={t('Needs attention')}>
    <ul>
      {attention.slice(0, 8).map(({ kind, severity, message, resource, resourceId }) => (
        <li key={`${kind} ${resourceId} ${message}`}>
          <Badge tone={TONES[severity] ?? 'info'}>{t(severity)}</Badge>
          <span>{kind === 'apply' ? (waitingText() ?? message) : message}</span>
          <Shown kind={kind} resource={resource} resourceId={resourceId} />
        </li>
      ))}
    </ul>
    {attention.length > 8 || more > 0 ? (
      <p class="hint">{t('{count} more', { count: attention.length - 8 + more })}</p>
    ) : null}
  </section>
)

/** Pages of single records. */
const RECORDS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  realServers: ['servers'],
  l7Frontends: ['services', 'layer7'],
  l4Frontends: ['services', 'layer4'],
}

function placeOf({ kind, resource, resourceId }: Shows): string | undefined {
  if (kind === 'cluster') return hrefOf('cluster')
  if (kind === 'job') return hrefOf('node')
  // What waits for confirmation is a revision, and no longer pending.
  if (kind === 'apply')
    return may('GET /revisions') ? hrefOf('changes', 'revisions', String(overview.value?.apply?.revision)) : undefined
  const [page, ...rest] = RECORDS[resource ?? ''] ?? []
  if (page !== undefined) return hrefOf(page, ...rest, resourceId ?? '')
  const list = PAGES[resource ?? '']
  return list === undefined ? undefined : hrefOf(list)
}

type Shows = Pick<Attention, 'kind' | 'resource' | 'resourceId'>

/** A link to the place of a matter that needs attention, if there is one. */
function Shown(matter: Shows) {
  if (matter.kind === 'pending')
    return (
      <button type="button" class="link" onClick={() => (isPendingOpen.value = true)}>
        {t('Show')}
      </button>
    )
  const place = placeOf(matter)
  return place === undefined ? null : <a href={place}>{t('Show')}</a>
}

const FirstSteps = () => (
  <NoServices>
    {may('POST /config/plan') ? (
      <p>
        {t(
          'Publish a service: an address for clients, and the servers behind it. You review the changes before you apply them.',
        )}
      </p>
    ) : null}
    <Button kind="main" icon="plus" needs="POST /config/plan" onClick={() => (isPublishOpen.value = true)}>
      {t('Publish a service')}
    </Button>
  </NoServices>
)

const Revisions = ({ revisions }: { readonly revisions: readonly Revision[] }) => (
  <ol class="timeline">
    {revisions.map(({ revision, by, at, comment, count }) => (
      <li key={revision}>
        <a href={hrefOf('changes', 'revisions', String(revision))}>
          {t('Revision {revision}', { revision: String(revision) })}
        </a>{' '}
        <span class="hint">
          {t('{count:record|records}', { count })} · {by} · <time dateTime={at}>{ago(at)}</time>
        </span>
        {comment === '' ? null : <div>{comment}</div>}
      </li>
    ))}
  </ol>
)

const EventItem = ({ event }: { readonly event: Happened }) => {
  const { texts, names, reason } = eventLineOf(event)
  return (
    <li>
      {[...texts.map((text) => t(text)), ...names].join(' · ')}{' '}
      <time class="hint" dateTime={event.at}>
        {ago(event.at)}
      </time>
      {reason === undefined ? null : (
        <div class="hint reason" title={reason}>
          {reason}
        </div>
      )}
    </li>
  )
}

const Events = ({ events }: { readonly events: readonly Happened[] }) => (
  <ol class="timeline">
    {events.map((event) => (
      <EventItem key={event.id} event={event} />
    ))}
  </ol>
)
