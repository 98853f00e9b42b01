import { useSignal } from '@preact/signals'
import { ask } from '../core/api.ts'
import { changed, figureOf, tick } from '../core/live.ts'
import { together, useRecords } from '../core/records.ts'
import { hrefOf, route } from '../core/route.ts'
import { short, t } from '../core/text.ts'
import { useFigures } from '../core/wanted.ts'
import { Answered } from '../parts/answered.tsx'
import { Badge, Button, Card, Empty, PageHead, Tile } from '../parts/basic.tsx'
import { History } from '../parts/chart-card.tsx'
import { Filter, filterText } from '../parts/filter.tsx'
import { isPublishOpen } from '../parts/publish.tsx'
import { type Editing, RecordDialog } from '../parts/record-dialog.tsx'
import {
  type BackendRecord,
  idsOf,
  NoServices,
  type Service,
  ServicesTable,
  standingOf,
  useServices,
} from '../parts/services-table.tsx'
import { type ServerRecord, ServersTable } from '../parts/servers-table.tsx'
import { attempt, removeRecord } from '../parts/toast.tsx'

/** All services of both layers in one list, and each service with its backend. */
export function ServicesPage() {
  const { services, known, problem } = useServices()
  const {
    rest: [, id],
  } = route.value
  const editing = useSignal<Editing | undefined>(undefined)
  const wanted = filterText()
  const shown = services.filter(({ name, ip, ports }) => `${name} ${ip}:${ports}`.toLowerCase().includes(wanted))
  const one = services.find((service) => service.id === id)
  return (
    <>
      {one === undefined ? (
        <>
          <PageHead title={t('Services')} hint={t('Frontends of both layers, and the servers behind them.')}>
            <Filter />
            <Button icon="plus" needs="POST /layer7proxy/frontends" onClick={() => (editing.value = NEW_L7())}>
              {t('Layer 7')}
            </Button>
            <Button icon="plus" needs="POST /ipvsDirector/frontends" onClick={() => (editing.value = NEW_L4())}>
              {t('Layer 4')}
            </Button>
            <Button kind="main" icon="plus" needs="POST /config/plan" onClick={() => (isPublishOpen.value = true)}>
              {t('Publish a service')}
            </Button>
          </PageHead>
          <Card>
            <Answered of={known} problem={problem}>
              {(all) =>
                all.length === 0 ? (
                  <NoServices />
                ) : shown.length === 0 ? (
                  <Empty title={t('No matches.')} />
                ) : (
                  <ServicesTable services={shown} />
                )
              }
            </Answered>
          </Card>
          <Backends onEdit={(next) => (editing.value = next)} />
        </>
      ) : (
        <OneService key={one.id} service={one} onEdit={(next) => (editing.value = next)} />
      )}
      {editing.value === undefined ? null : (
        <RecordDialog editing={editing.value} onClose={() => (editing.value = undefined)} />
      )}
    </>
  )
}

const NEW_L7 = (): Editing => ({
  title: t('New Layer 7 frontend'),
  create: 'l7Frontends.create',
  begin: { mode: 'http' },
  first: ['name', 'mode', 'ip', 'ports', 'defaultBackendId'],
})

const NEW_L4 = (): Editing => ({
  title: t('New Layer 4 frontend'),
  create: 'l4Frontends.create',
  begin: { protocol: 'tcp', forwarding: 'masq' },
  first: ['name', 'ip', 'ports', 'backendId'],
})

const editFrontend = ({ layer, id, name }: Service): Editing => ({
  title: t('Frontend {name}', { name }),
  create: '',
  update: layer === 'layer7' ? 'l7Frontends.update' : 'l4Frontends.update',
  id,
  first: ['name', 'enabled'],
})

const editBackend = (layer: Service['layer'], { id, name }: BackendRecord): Editing => ({
  title: t('Backend {name}', { name }),
  create: '',
  update: layer === 'layer7' ? 'l7Backends.update' : 'l4Backends.update',
  id,
  first: ['name', 'reals'],
})

/** Longer lists are cut; the filter finds the rest. */
const SHOWN_MAX = 200

function Backends({ onEdit }: { readonly onEdit: (editing: Editing) => void }) {
  const l7 = useRecords<BackendRecord>('/layer7proxy/backends')
  const l4 = useRecords<BackendRecord>('/ipvsDirector/backends')
  const { isKnown, problem } = together([l7, l4])
  const all = [
    ...(l7.records ?? []).map((one) => ['layer7', one] as const),
    ...(l4.records ?? []).map((one) => ['layer4', one] as const),
  ]
  const wanted = filterText()
  const shown = all.filter(([, { name }]) => name.toLowerCase().includes(wanted))
  return (
    <Card
      title={t('Backends')}
      more={
        <>
          <Button
            kind="quiet"
            icon="plus"
            needs="POST /layer7proxy/backends"
            onClick={() =>
              onEdit({
                title: t('New Layer 7 backend'),
                create: 'l7Backends.create',
                begin: { mode: 'http' },
                first: ['name', 'mode', 'reals'],
              })
            }
          >
            {t('Layer 7')}
          </Button>
          <Button
            kind="quiet"
            icon="plus"
            needs="POST /ipvsDirector/backends"
            onClick={() =>
              onEdit({ title: t('New Layer 4 backend'), create: 'l4Backends.create', first: ['name', 'reals'] })
            }
          >
            {t('Layer 4')}
          </Button>
        </>
      }
    >
      <Answered of={isKnown ? shown : undefined} problem={problem}>
        {() =>
          shown.length === 0 ? (
            <Empty title={all.length === 0 ? t('No backends yet.') : t('No matches.')} />
          ) : (
            <ul class="chips">
              {shown.slice(0, SHOWN_MAX).map(([layer, one]) => (
                <li key={one.id}>
                  <button type="button" class="chip" onClick={() => onEdit(editBackend(layer, one))}>
                    <bdi>{one.name}</bdi>{' '}
                    <span class="hint">{t('{count:server|servers}', { count: one.reals.length })}</span>
                  </button>
                </li>
              ))}
            </ul>
          )
        }
      </Answered>
      {shown.length > SHOWN_MAX ? (
        <p class="hint">{t('{count} more: use the filter to find them.', { count: shown.length - SHOWN_MAX })}</p>
      ) : null}
    </Card>
  )
}

/** Counters among the present figures. */
const COUNTED: ReadonlySet<string> = new Set(['responses5xx', 'requestsDenied'])

/** The right that each button of a service needs. */
const RIGHTS = {
  layer7: {
    update: 'PUT /layer7proxy/frontends/{id}',
    delete: 'DELETE /layer7proxy/frontends/{id}',
    updateBackend: 'PUT /layer7proxy/backends/{id}',
  },
  layer4: {
    update: 'PUT /ipvsDirector/frontends/{id}',
    delete: 'DELETE /ipvsDirector/frontends/{id}',
    updateBackend: 'PUT /ipvsDirector/backends/{id}',
  },
} as const

function OneService({ service, onEdit }: { readonly service: Service; readonly onEdit: (editing: Editing) => void }) {
  useFigures(idsOf(service))
  void tick.value
  const { layer, id, name, backendId, backend, isPaused, enabled, kind, ip, ports } = service
  const standing = standingOf(service)
  const figure = figureOf(layer, 'frontends', id)
  const servers = useRecords<ServerRecord>('/ipvsDirector/rips')
  const members = new Set((backend?.reals ?? []).map(({ ripId }) => ripId))
  const rights = RIGHTS[layer]
  const path = layer === 'layer7' ? `/layer7proxy/frontends/${id}` : `/ipvsDirector/frontends/${id}`
  const put = (body: object) => attempt(async () => (await ask('PUT', path, { body })).message).then(changed)
  async function remove() {
    if (await removeRecord(path, name)) location.hash = hrefOf('services')
  }
  return (
    <>
      <PageHead title={name} hint={<span class="code">{`${kind} ${ip}:${ports}`}</span>}>
        <Badge tone={standing.tone}>{standing.word}</Badge>
        {layer === 'layer7' ? (
          <Button
            icon={isPaused ? 'play' : 'pause'}
            needs={rights.update}
            onClick={() => void put({ maintenance: { enabled: !isPaused } })}
          >
            {isPaused ? t('Resume') : t('Pause')}
          </Button>
        ) : null}
        <Button needs={rights.update} onClick={() => void put({ enabled: !enabled })}>
          {enabled ? t('Disable') : t('Enable')}
        </Button>
        <Button icon="edit" needs={rights.update} onClick={() => onEdit(editFrontend(service))}>
          {t('Edit')}
        </Button>
        <Button kind="danger" icon="trash" needs={rights.delete} onClick={() => void remove()}>
          {t('Delete')}
        </Button>
      </PageHead>
      <p>
        <a href={hrefOf('services')}>{t('All services')}</a>
      </p>
      <div class="tiles">
        {(kind === 'tcp' && layer === 'layer7'
          ? ([
              [t('New sessions per second'), 'sessionRate'],
              [t('Open sessions'), 'currentSessions'],
            ] as const)
          : layer === 'layer7'
            ? ([
                [t('Requests per second'), 'requestRate'],
                [t('Open sessions'), 'currentSessions'],
                [t('5xx responses'), 'responses5xx'],
                [t('Refused'), 'requestsDenied'],
              ] as const)
            : ([
                [t('Connections per second'), 'connectionsPerSecond'],
                [t('Connections'), 'connections'],
              ] as const)
        ).map(([title, field]) => (
          <Tile
            key={field}
            title={title}
            value={short(figure?.[field])}
            more={COUNTED.has(field) ? t('since the last reload') : undefined}
          />
        ))}
      </div>
      <History layer={layer} kind="frontends" id={id} name={name} />
      {backend === undefined ? (
        // A backend that has not arrived yet, or is hidden, keeps its place.
        <Card title={backendId === null ? t('No backend') : t('Backend')}>{null}</Card>
      ) : (
        <Card
          title={t('Backend {name}', { name: backend.name })}
          more={
            <Button
              kind="quiet"
              icon="edit"
              needs={rights.updateBackend}
              onClick={() => onEdit(editBackend(layer, backend))}
            >
              {t('Edit')}
            </Button>
          }
        >
          <Answered of={servers.records} problem={servers.problem}>
            {(all) => <ServersTable servers={all.filter((server) => members.has(server.id))} />}
          </Answered>
        </Card>
      )}
    </>
  )
}
