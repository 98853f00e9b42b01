import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ask, follow, type Query } from '../core/api.ts'
import { frontendsWithFigures, self } from '../core/live.ts'
import { may } from '../core/rights.ts'
import { isSame } from '../core/merge.ts'
import { isSeen } from '../core/seen.ts'
import { inPlace } from '../core/shared-streams.ts'
import { number, t } from '../core/text.ts'
import { Answered } from '../parts/answered.tsx'
import { Badge, Button, Card, Empty, PageHead, Problem, type Tone, When } from '../parts/basic.tsx'
import { History } from '../parts/chart-card.tsx'
import { NoServices, useServices } from '../parts/services-table.tsx'
import { type Column, Table } from '../parts/table.tsx'

/** The traffic of a service: charts, and single requests. */
export function TrafficPage() {
  const { services: recorded, known, problem } = useServices()
  // A role for monitoring reads figures and their history, but no records.
  const services = recorded.length === 0 && problem !== undefined ? frontendsWithFigures() : recorded
  const chosen = useSignal('')
  const one = services.find(({ id }) => id === chosen.value) ?? services[0]
  return (
    <>
      <PageHead title={t('Traffic')} hint={t('Charts and individual requests of a service.')}>
        <select
          aria-label={t('Service')}
          value={one?.id ?? ''}
          onChange={(event) => (chosen.value = event.currentTarget.value)}
        >
          {services.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </PageHead>
      {one === undefined ? (
        <Answered of={known} problem={problem}>
          {() => <NoServices />}
        </Answered>
      ) : (
        <History key={one.id} layer={one.layer} kind="frontends" id={one.id} name={one.name} />
      )}
      {may('GET /{applianceId}/layer7proxy/logs') ? (
        <Requests frontendId={one?.layer === 'layer7' ? one.id : undefined} />
      ) : null}
    </>
  )
}

interface LogLine {
  readonly id: string
  readonly time: string
  readonly frontendName: string | null
  readonly backendName: string | null
  readonly serverName: string | null
  readonly source: string
  readonly method: string | null
  readonly host: string | null
  readonly path: string | null
  readonly status: number | null
  readonly totalTime: number | null
}

const KEPT = 500
/** HAProxy logs -1 if no answer was sent. */
const wasAnswered = (status: number | null): status is number => status !== null && status > 0
const toneOf = (status: number | null): Tone =>
  !wasAnswered(status) ? 'idle' : status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good'

const COLUMNS = (): readonly Column<LogLine>[] => [
  { id: 'time', title: t('Time'), cell: ({ time }) => <When at={time} /> },
  {
    id: 'status',
    title: t('Status'),
    cell: ({ status }) => <Badge tone={toneOf(status)}>{wasAnswered(status) ? status : '–'}</Badge>,
  },
  {
    id: 'request',
    title: t('Request'),
    isWide: true,
    isPath: true,
    cell: ({ method, host, path }) => <span class="code request">{`${method ?? ''} ${host ?? ''}${path ?? ''}`}</span>,
  },
  { id: 'source', title: t('Client'), cell: ({ source }) => <span class="code">{source}</span> },
  {
    id: 'server',
    title: t('Server'),
    cell: ({ backendName, serverName }) => <bdi>{`${backendName ?? '–'} / ${serverName ?? '–'}`}</bdi>,
  },
  {
    id: 'took',
    title: t('ms'),
    isNumber: true,
    by: ({ totalTime }) => totalTime ?? 0,
    cell: ({ totalTime }) => (totalTime === null ? '–' : number(totalTime)),
  },
]

/** Searches the access log, or follows it. */
function Requests({ frontendId }: { readonly frontendId: string | undefined }) {
  const path = useSignal('')
  const status = useSignal('')
  const source = useSignal('')
  const slower = useSignal('')
  const lines = useSignal<readonly LogLine[] | undefined>(undefined)
  const next = useSignal<string | undefined>(undefined)
  const isLive = useSignal(false)
  const isCrowded = useSignal(false)
  /** Counts searches: the live stream follows the last search. */
  const searches = useSignal(0)
  const problem = useSignal<string | undefined>(undefined)
  /** The last search, regardless of later typing: "more" continues this search. */
  const asked = useRef<Query>({})
  /** The search that found the lines. */
  const found = useRef<Query>({})
  const node = self()
  const query = (): Query => ({
    frontendId,
    path: path.value.trim() || undefined,
    status: status.value.trim() || undefined,
    source: source.value.trim() || undefined,
    slowerThan: slower.value.trim() || undefined,
  })
  async function search(after?: string) {
    problem.value = undefined
    if (after === undefined) asked.current = query()
    const own = asked.current
    try {
      const answer = await ask<readonly LogLine[]>('GET', `/${node}/layer7proxy/logs`, {
        query: { ...own, limit: 100, after },
      })
      // A later answer may have overtaken this one.
      if (own !== asked.current) return
      found.current = own
      lines.value = after === undefined ? answer.data : [...(lines.value ?? []), ...answer.data]
      next.value = answer.next
    } catch (error) {
      if (own !== asked.current) return
      problem.value = error instanceof Error ? error.message : String(error)
      if (isSame(own, found.current)) return
      lines.value = undefined
      next.value = undefined
    }
  }
  useEffect(() => {
    if (!isSeen.value) return undefined
    void search()
    if (!isLive.value) return undefined
    const begin = () => {
      isCrowded.value = false
      return follow(`/${node}/layer7proxy/logs/stream`, {
        query: asked.current,
        onEvent: ({ data }) => {
          const come = (Array.isArray(data) ? data : [data]) as readonly LogLine[]
          lines.value = [
            ...come.filter(({ time }) => typeof time === 'string').toReversed(),
            ...(lines.value ?? []),
          ].slice(0, KEPT)
        },
        // The search itself shows the reason.
        onRefused: () => (isLive.value = false),
      })
    }
    const end = inPlace(begin, () => (isCrowded.value = true))
    return () => {
      isCrowded.value = false
      end()
    }
  }, [isLive.value, isSeen.value, searches.value, frontendId, node])
  const input = (label: string, value: typeof path, hint: string) => (
    <label class="field narrow">
      {label}
      <input
        type="text"
        placeholder={hint}
        value={value.value}
        onInput={(event) => (value.value = event.currentTarget.value)}
      />
    </label>
  )
  return (
    <Card
      title={t('Requests')}
      more={
        <Button
          kind={isLive.value ? 'main' : 'plain'}
          icon={isLive.value ? 'pause' : 'play'}
          aria-pressed={isLive.value}
          onClick={() => (isLive.value = !isLive.value)}
        >
          {t('Live')}
        </Button>
      }
    >
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          searches.value += 1
        }}
      >
        {input(t('Path'), path, '/login')}
        {input(t('Status'), status, '5xx')}
        {input(t('Client'), source, '192.0.2.7')}
        {input(t('Slower than (ms)'), slower, '500')}
        <Button kind="main" type="submit" icon="search">
          {t('Search')}
        </Button>
      </form>
      <Problem
        text={isCrowded.value ? t('Other windows use all connections that this browser allows: close one.') : undefined}
      />
      <Answered of={lines.value} problem={problem.value}>
        {(all) =>
          all.length === 0 ? (
            <Empty title={t('No requests.')}>
              <p>{t('Requests are recorded for frontends with access logs: edit the frontend and enable "logs".')}</p>
            </Empty>
          ) : (
            <Table label={t('Requests')} rows={all} columns={COLUMNS()} keyOf={({ id }) => id} />
          )
        }
      </Answered>
      {next.value === undefined || isLive.value ? null : (
        <Button onClick={() => void search(next.value)}>{t('More')}</Button>
      )}
    </Card>
  )
}
