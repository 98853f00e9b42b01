import { useRead } from '../core/records.ts'
import { useSignal } from '@preact/signals'
import { ask } from '../core/api.ts'
import { isOverviewHidden, overview, type Overview, self } from '../core/live.ts'
import { may, type Right } from '../core/rights.ts'
import { ago, bytes, t } from '../core/text.ts'
import { Answered, Rows } from '../parts/answered.tsx'
import { Badge, Button, Card, Empty, Loading, PageHead, Tile, type Tone } from '../parts/basic.tsx'
import { BackupsCard } from '../parts/backups.tsx'
import { OwnTroubles } from '../parts/cluster-troubles.tsx'
import { OperationDialog } from '../parts/operation-dialog.tsx'
import { attempt } from '../parts/toast.tsx'

type Asked = { readonly id: string; readonly begin?: Readonly<Record<string, unknown>> }

/** This machine and the other nodes: programs, network, updates, backups, power. */
export function NodePage() {
  const asked = useSignal<Asked | undefined>(undefined)
  const now = overview.value
  const open = (id: string, begin: Asked['begin'] = {}) => (asked.value = { id, begin })
  if (now === undefined && !isOverviewHidden.value) return <Loading />
  return (
    <>
      <PageHead title={t('Node')} hint={now?.nodes.find(({ isSelf }) => isSelf)?.name ?? ''}>
        <Button kind="danger" needs="PUT /{applianceId}/system/reboot" onClick={() => open('power.reboot')}>
          {t('Reboot')}
        </Button>
      </PageHead>
      {now !== undefined && now.quorum !== null && may('GET /cluster') ? <OwnTroubles /> : null}
      {now === undefined ? null : <Figures now={now} />}
      <div class="columns even">
        {may('GET /services') ? <Programs /> : null}
        <div class="stack">
          {may('GET /{applianceId}/interfaces') ? <Interfaces open={open} /> : null}
          {may('GET /jobs') ? <Jobs /> : null}
          {may('GET /{applianceId}/system/update/status') ? <Updates open={open} /> : null}
          {may('GET /backup', 'GET /backup/list', 'POST /backup/upload') ? <BackupsCard /> : null}
          <Settings open={open} />
        </div>
      </div>
      {asked.value === undefined ? null : (
        <OperationDialog {...asked.value} onClose={() => (asked.value = undefined)} />
      )}
    </>
  )
}

const Figures = ({ now }: { readonly now: Overview }) => (
  <div class="tiles">
    <Tile
      title="HAProxy"
      value={now.haproxy.version?.split('-', 1)[0] ?? '–'}
      more={[now.haproxy.answers ? t('answers') : t('does not answer'), now.haproxy.version ?? []].flat().join(' · ')}
    />
    <Tile
      title={t('Layer 4')}
      value={now.layer4.problem === null ? t('works') : '–'}
      more={now.layer4.frontends.total === 0 ? t('no service') : (now.layer4.problem ?? '')}
    />
    <Tile
      title={t('Disk free')}
      value={bytes(now.disk?.available)}
      more={now.disk === null ? '' : t('of {size}', { size: bytes(now.disk.size) })}
    />
    <Tile
      title="Fulcrum"
      value={now.version}
      more={now.quorum === null ? t('one node') : now.quorum ? t('quorum') : t('no quorum')}
    />
  </div>
)

interface Opening {
  readonly open: (id: string, begin?: Asked['begin']) => void
}

interface Program {
  readonly name: string
  readonly fullName: string
  readonly canReload: boolean
}

function Programs() {
  const { data, problem } = useRead<readonly Program[]>('/services')
  const act = (name: string, what: 'reload' | 'restart') =>
    attempt(async () => (await ask('PUT', `/services/${name}/${what}`, { body: {} })).message)
  return (
    <Card title={t('Programs')}>
      <Rows of={data?.map((one) => ({ id: one.name, ...one }))} problem={problem}>
        {({ name, fullName, canReload }) => (
          <>
            <span class="lead">{fullName}</span>
            <span class="row-actions">
              {canReload ? (
                <Button kind="quiet" needs="PUT /services/{service}/reload" onClick={() => void act(name, 'reload')}>
                  {t('Reload')}
                </Button>
              ) : null}
              <Button
                kind="quiet"
                needs="PUT /services/{service}/restart"
                onClick={() => {
                  if (confirm(t('Restart {name}? Its current work is interrupted.', { name: fullName })))
                    void act(name, 'restart')
                }}
              >
                {t('Restart')}
              </Button>
            </span>
          </>
        )}
      </Rows>
    </Card>
  )
}

interface Interface {
  readonly id: string
  readonly name: string
  readonly state: string
  readonly addresses: readonly { readonly ip: string; readonly prefix: number }[]
}

/** A link that nobody uses is not out of order, as a server is. */
const LINKS: Readonly<Record<string, string>> = { up: 'link up', down: 'link down' }

function Interfaces({ open }: Opening) {
  const { data, problem } = useRead<readonly Interface[]>(`/${self()}/interfaces`)
  return (
    <Card
      title={t('Network')}
      more={
        <>
          <Button kind="quiet" icon="plus" needs="POST /{applianceId}/sips" onClick={() => open('staticIps.create')}>
            {t('Address')}
          </Button>
          <Button kind="quiet" icon="plus" needs="POST /{applianceId}/routes" onClick={() => open('ipRoutes.create')}>
            {t('Route')}
          </Button>
          <Button kind="quiet" icon="plus" needs="POST /fips" onClick={() => open('floatingIps.create')}>
            {t('Floating IP')}
          </Button>
        </>
      }
    >
      <Rows of={data} problem={problem}>
        {({ name, state, addresses }) => (
          <>
            <strong>{name}</strong> <Badge tone={state === 'up' ? 'good' : 'idle'}>{t(LINKS[state] ?? state)}</Badge>{' '}
            <span class="code">{addresses.map(({ ip, prefix }) => `${ip}/${prefix}`).join(' ')}</span>
          </>
        )}
      </Rows>
    </Card>
  )
}

interface Job {
  readonly id: string
  readonly title: string
  readonly state: 'running' | 'succeeded' | 'failed' | 'cancelled'
  readonly progress: number | null
  readonly step: string
  readonly startedAt: string
  readonly problem: { readonly message: string } | null
}
const JOB_TONES: Readonly<Record<Job['state'], Tone>> = {
  running: 'info',
  succeeded: 'good',
  failed: 'bad',
  cancelled: 'idle',
}

function Jobs() {
  const { data, problem } = useRead<readonly Job[]>('/jobs')
  return (
    <Card title={t('Jobs')}>
      <Rows of={data?.slice(0, 12)} problem={problem} empty={<Empty title={t('No jobs yet.')} />}>
        {({ title, state, progress, step, startedAt, problem: failed }) => (
          <>
            {title} <Badge tone={JOB_TONES[state]}>{t(state)}</Badge> <span class="hint">{ago(startedAt)}</span>
            {state === 'running' ? <progress max={100} value={progress ?? undefined} aria-label={title} /> : null}
            {step === '' ? null : <div class="hint">{step}</div>}
            {failed === null ? null : <p class="error">{failed.message}</p>}
          </>
        )}
      </Rows>
    </Card>
  )
}

interface UpdateStatus {
  readonly restartRequired: boolean
  readonly details: readonly { readonly name: string; readonly security: boolean }[]
}

function Updates({ open }: Opening) {
  const { data, problem } = useRead<UpdateStatus>(`/${self()}/system/update/status`)
  return (
    <Card
      title={t('Updates')}
      more={
        <Button kind="quiet" needs="PUT /{applianceId}/system/update" onClick={() => open('updates.start')}>
          {t('Update')}
        </Button>
      }
    >
      <Answered of={data} problem={problem}>
        {({ details, restartRequired }) => (
          <p>
            {t('{count:package|packages}, including {security} security updates.', {
              count: details.length,
              security: details.filter((one) => one.security).length,
            })}{' '}
            {restartRequired ? <Badge tone="warn">{t('restart needed')}</Badge> : null}
          </p>
        )}
      </Answered>
    </Card>
  )
}

/** Key of a text, operation, and the right it needs. */
const SETTINGS: readonly (readonly [string, string, Right])[] = [
  ['Clock', 'dateTime.ntp', 'PUT /{applianceId}/system/datetime/ntp'],
  ['Time zone', 'dateTime.timezone', 'PUT /{applianceId}/system/datetime/timezone'],
  ['Connection tracking', 'conntrack.update', 'PUT /{applianceId}/system/conntrack'],
  ['Proxy', 'systemProxy.update', 'PUT /{applianceId}/system/proxy'],
  ['SNMP', 'snmp.update', 'PUT /snmp'],
  ['Address of this page', 'userInterface.update', 'PUT /{applianceId}/system/userinterface'],
  ['Syslog', 'syslogServer.update', 'PUT /layer7proxy/syslog'],
  ['Snapshot', 'lvmSnapshots.create', 'POST /{applianceId}/lvmsnapshots'],
  ['Shut down', 'power.halt', 'PUT /{applianceId}/system/halt'],
]

function Settings({ open }: Opening) {
  const own = SETTINGS.filter(([, , right]) => may(right))
  if (own.length === 0) return null
  return (
    <Card title={t('Settings')}>
      <ul class="chips">
        {own.map(([name, id]) => (
          <li key={id}>
            <button type="button" class="chip" onClick={() => open(id)}>
              {t(name)}
            </button>
          </li>
        ))}
      </ul>
    </Card>
  )
}
