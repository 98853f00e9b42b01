import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { ask, read, changes } from '../core/api.ts'
import { failedIn, type Figure, newIn, openIn } from '../core/figures.ts'
import { changed, figuresOfServer, hasFigures, tick } from '../core/live.ts'
import { useRecords } from '../core/records.ts'
import { may } from '../core/rights.ts'
import { hrefOf, route, setQuery } from '../core/route.ts'
import { brief, short, t } from '../core/text.ts'
import { useFigures } from '../core/wanted.ts'
import { Answered } from '../parts/answered.tsx'
import { Badge, Button, Card, Choice, Empty, PageHead, Tile } from '../parts/basic.tsx'
import { History } from '../parts/chart-card.tsx'
import { Filter, filterText } from '../parts/filter.tsx'
import { type Editing, RecordDialog } from '../parts/record-dialog.tsx'
import { type ServerRecord, ServersTable } from '../parts/servers-table.tsx'
import { attempt, removeRecord, say } from '../parts/toast.tsx'

const NEW = (): Editing => ({
  title: t('New server'),
  create: 'realServers.create',
  begin: { port: 80 },
  first: ['name', 'ip', 'port', 'weight'],
})

type Wanted = 'all' | 'down' | 'drained' | 'halted'
const fits: Readonly<Record<Wanted, (server: ServerRecord) => boolean>> = {
  all: () => true,
  down: ({ health }) => health === 'down',
  drained: ({ state }) => state === 'drained',
  halted: ({ state }) => state === 'halted',
}

/** All servers that requests are sent to. */
export function ServersPage() {
  const { records, problem } = useRecords<ServerRecord>('/ipvsDirector/rips')
  const {
    rest: [id],
    query,
  } = route.value
  const editing = useSignal<Editing | undefined>(undefined)
  const text = filterText()
  const state = (query.get('state') ?? 'all') as Wanted
  const fit = fits[state] ?? fits.all
  const all = records ?? []
  const one = all.find((server) => server.id === id)
  const shown = useMemo(
    () =>
      all.filter((server) => fit(server) && `${server.name} ${server.ip}:${server.port}`.toLowerCase().includes(text)),
    [records, fit, text],
  )
  return (
    <>
      {one === undefined ? (
        <>
          <PageHead title={t('Servers')} hint={t('The servers that receive requests, in both layers.')}>
            <Filter hint={t('Name or address')} />
            <Button kind="main" icon="plus" needs="POST /ipvsDirector/rips" onClick={() => (editing.value = NEW())}>
              {t('New server')}
            </Button>
          </PageHead>
          <Choice
            label={t('State')}
            value={state}
            options={(Object.keys(fits) as Wanted[]).map((name) => [
              name,
              records === undefined ? t(name) : `${t(name)} (${all.filter(fits[name]).length})`,
            ])}
            onChange={(next) => setQuery({ state: next === 'all' ? '' : next })}
          />
          <Card>
            <Answered of={records} problem={problem}>
              {() =>
                all.length === 0 ? (
                  <Empty title={t('No servers yet.')}>
                    <Button
                      kind="main"
                      icon="plus"
                      needs="POST /ipvsDirector/rips"
                      onClick={() => (editing.value = NEW())}
                    >
                      {t('New server')}
                    </Button>
                  </Empty>
                ) : (
                  <ServersTable servers={shown} />
                )
              }
            </Answered>
          </Card>
        </>
      ) : (
        <OneServer key={one.id} server={one} onEdit={(next) => (editing.value = next)} />
      )}
      {editing.value === undefined ? null : (
        <RecordDialog editing={editing.value} onClose={() => (editing.value = undefined)} />
      )}
    </>
  )
}

const mayMaintain = () =>
  may('PUT /ipvsDirector/rips/{id}/drain') && may('PUT /ipvsDirector/rips/{id}/halt') && may('PUT /services/apply')

function OneServer({ server, onEdit }: { readonly server: ServerRecord; readonly onEdit: (editing: Editing) => void }) {
  const { id, name, ip, port, health, state, weight } = server
  useFigures([id])
  void tick.value
  const figures = figuresOfServer(id)
  const move = (to: string) =>
    attempt(async () => (await ask('PUT', `/ipvsDirector/rips/${id}/${to}`, { body: {} })).message).then(changed)
  async function remove() {
    if (await removeRecord(`/ipvsDirector/rips/${id}`, name)) location.hash = hrefOf('servers')
  }
  return (
    <>
      <PageHead title={name} hint={<span class="code">{`${ip}${port === null ? '' : `:${port}`}`}</span>}>
        <Badge tone={health === 'up' ? 'good' : health === 'down' ? 'bad' : 'idle'}>{t(health)}</Badge>
        <Badge tone={state === 'online' ? 'good' : 'warn'}>{t(state)}</Badge>
        {state === 'online' ? null : (
          <Button icon="play" needs="PUT /ipvsDirector/rips/{id}/online" onClick={() => void move('online')}>
            {t('Bring online')}
          </Button>
        )}
        {state === 'online' ? (
          <Button needs="PUT /ipvsDirector/rips/{id}/drain" onClick={() => void move('drain')}>
            {t('Drain')}
          </Button>
        ) : null}
        {state === 'halted' ? null : (
          <Button kind="danger" needs="PUT /ipvsDirector/rips/{id}/halt" onClick={() => void move('halt')}>
            {t('Halt')}
          </Button>
        )}
        <Button
          icon="edit"
          needs="PUT /ipvsDirector/rips/{id}"
          onClick={() =>
            onEdit({
              title: t('Server {name}', { name }),
              create: '',
              update: 'realServers.update',
              id,
              first: ['name', 'ip', 'port', 'weight', 'state'],
            })
          }
        >
          {t('Edit')}
        </Button>
        <Button kind="danger" icon="trash" needs="DELETE /ipvsDirector/rips/{id}" onClick={() => void remove()}>
          {t('Delete')}
        </Button>
      </PageHead>
      <p>
        <a href={hrefOf('servers')}>{t('All servers')}</a>
      </p>
      <Maintenance server={server} />
      <div class="tiles">
        {(
          [
            [t('Sessions'), openIn(figures), undefined],
            [t('Per second'), newIn(figures), undefined],
            [t('5xx responses'), failedIn(figures), t('since the last reload')],
          ] as const
        ).map(([title, value, more]) => (
          <Tile key={title} title={title} value={short(value)} more={more} />
        ))}
        <Tile title={t('Weight')} value={weight} />
      </div>
      <Card title={t('In backends')}>
        <ul class="plain">
          {figures.map((one) => (
            <li key={String(one['backendId'])}>
              <bdi>{String(one['backendName'])}</bdi> <Standing figure={one} />{' '}
              <span class="hint">{reasonOf(one)}</span>
            </li>
          ))}
          {figures.length > 0 ? null : <li class="hint">{hasFigures.value ? t('In no live backend.') : '–'}</li>}
        </ul>
      </Card>
      <History layer={isOfLayer4(figures) ? 'layer4' : 'layer7'} kind="rips" id={id} name={name} />
    </>
  )
}

/** Returns whether only the kernel balances the server. */
const isOfLayer4 = (figures: readonly Figure[]): boolean =>
  figures.length > 0 && figures.every((one) => 'activeConnections' in one)

const isDown = ({ status, health }: Figure): boolean => health === 'down' || String(status).startsWith('DOWN')

/** HAProxy has its own words for the state; Layer 4 reports only health. */
const Standing = ({ figure }: { readonly figure: Figure }) => {
  const { status, health } = figure
  const tone = isDown(figure) ? 'bad' : status === 'UP' || health === 'up' ? 'good' : 'idle'
  return <Badge tone={tone}>{status ?? t(String(health))}</Badge>
}

/** The result of the last check, and since when the server is down: only this is kept over a reload. */
function reasonOf(figure: Figure): string {
  const { checkStatus, checkCode, changedAt } = figure
  const check = [checkStatus, checkCode].filter((one) => one !== undefined && one !== null).join(' ')
  const since = isDown(figure) && typeof changedAt === 'number' ? t('since {time}', { time: brief(changedAt) }) : ''
  return [check, since].filter((one) => one !== '').join(' · ')
}

function tellEnd({ title, state, problem }: Job): void {
  if (state === 'succeeded') say(t('{title}: done', { title }))
  else if (problem !== null) say(problem.message, 'bad')
  void changed()
}

interface Job {
  readonly id: string
  readonly kind: string
  readonly title: string
  readonly state: string
  readonly progress: number | null
  readonly step: string
  readonly canCancel: boolean
  readonly resourceId?: string
  readonly problem: { readonly message: string } | null
}

const WAIT_S = 300

/** Starts a drain that waits until no client is connected, and then halts the server. */
function Maintenance({ server: { id, state } }: { readonly server: ServerRecord }) {
  const job = useSignal<Job | undefined>(undefined)
  const followed = useRef<string | undefined>(undefined)
  useEffect(() => {
    if (!may('GET /jobs')) return undefined
    function found(all: readonly Job[]) {
      const ofThis = all.filter(({ kind, resourceId }) => kind === 'realServer.drain' && resourceId === id)
      job.value = ofThis.find(({ state: now }) => now === 'running')
      const ended = ofThis.find((one) => one.id === followed.current && one.state !== 'running')
      if (ended !== undefined) tellEnd(ended)
      followed.current = job.value?.id
    }
    const look = () => void read<readonly Job[]>('/jobs').then(found, () => undefined)
    look()
    const timer = setInterval(look, 2_000)
    return () => clearInterval(timer)
  }, [id, changes.value])
  const begin = () =>
    attempt(async () => {
      await ask('PUT', `/ipvsDirector/rips/${id}/drain?wait=${WAIT_S}&then=halt`, { body: {} })
      return undefined
    }).then(changed)
  const now = job.value
  if (now === undefined)
    return state === 'online' && mayMaintain() ? (
      <p>
        <Button icon="pause" needs="PUT /ipvsDirector/rips/{id}/drain" onClick={() => void begin()}>
          {t('Maintenance: drain, wait up to 5 minutes, then halt')}
        </Button>
      </p>
    ) : null
  return (
    <Card title={now.title}>
      <progress max={100} value={now.progress ?? undefined} aria-label={now.title} />
      <p class="hint">{now.step}</p>
      {now.canCancel ? (
        <Button
          onClick={() => void attempt(async () => (await ask('PUT', `/jobs/${now.id}/cancel`, { body: {} })).message)}
        >
          {t('Cancel')}
        </Button>
      ) : null}
    </Card>
  )
}
