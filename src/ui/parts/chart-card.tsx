import { useSignal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { read } from '../core/api.ts'
import { daemonNow_ms } from '../core/clock.ts'
import { type LayerName, type Revision, self } from '../core/live.ts'
import { saveFile } from '../core/save-file.ts'
import { type Series, type Steps, sumOfSeries, timesOf, valuesBefore } from '../core/series.ts'
import { moment, t } from '../core/text.ts'
import { Button, Card, Choice, Loading, Problem } from './basic.tsx'
import type { ChartProps, Line } from './chart.tsx'

type Kind = 'frontends' | 'backends' | 'rips'
interface Figures extends Steps {
  readonly times: readonly number[]
  readonly series: Series
}

const RANGES = [
  ['10 min', 600],
  ['hour', 3600],
  ['day', 86_400],
  ['week', 7 * 86_400],
  ['month', 31 * 86_400],
  ['year', 366 * 86_400],
  ['2 years', 732 * 86_400],
] as const
type Range = (typeof RANGES)[number][0]

const WEEK_S = 7 * 86_400
const POINTS = 600

interface Shown {
  readonly title: string
  readonly metrics: readonly string[]
}
const CHARTS: Readonly<Record<LayerName, readonly Shown[]>> = {
  layer7: [
    { title: 'Traffic', metrics: ['requestRate', 'responses5xx'] },
    { title: 'Sessions', metrics: ['currentSessions', 'sessionRate'] },
    { title: 'Bytes', metrics: ['bytesIn', 'bytesOut'] },
    { title: 'Time', metrics: ['responseTime', 'totalTime'] },
  ],
  layer4: [
    { title: 'Sessions', metrics: ['currentSessions', 'sessionRate'] },
    { title: 'Bytes', metrics: ['bytesIn', 'bytesOut'] },
  ],
}
/** For servers, the archive has only HAProxy's figures of servers. */
const SERVERS: readonly Shown[] = CHARTS.layer7.slice(1, 3)

const NAMES: Readonly<Record<string, string>> = {
  requestRate: 'Requests per second',
  responses5xx: '5xx responses per second',
  currentSessions: 'Open sessions',
  sessionRate: 'New sessions per second',
  bytesIn: 'Bytes in per second',
  bytesOut: 'Bytes out per second',
  responseTime: 'Response time (ms)',
  totalTime: 'Total time (ms)',
}

interface Answered extends Steps {
  readonly series?: Series
  readonly frontends?: readonly { readonly series: Series }[]
  readonly backends?: readonly { readonly series: Series }[]
}

async function figuresOf(path: string, query: Readonly<Record<string, string | number>>): Promise<Figures> {
  const data = await read<Answered | readonly Answered[]>(path, query)
  // A server has one answer per backend, all of the same window.
  const all = Array.isArray(data) ? (data as readonly Answered[]) : [data as Answered]
  const { start = 0, resolution = 1 } = all[0] ?? {}
  const series = sumOfSeries(all.map((one) => one.series ?? {}))
  const [first = []] = Object.values(series)
  return { start, resolution, times: timesOf({ start, resolution }, first.length), series }
}

/** The figures of an object over an hour to two years, with the applies in that time. */
export function History({
  layer,
  kind,
  id,
  name,
}: {
  readonly layer: LayerName
  readonly kind: Kind
  readonly id: string
  readonly name: string
}) {
  const range = useSignal<Range>('hour')
  const charts = kind === 'rips' ? SERVERS : CHARTS[layer]
  const chosen = useSignal(charts[0]?.title ?? '')
  const compares = useSignal(false)
  const now = useSignal<Figures | undefined>(undefined)
  const before = useSignal<Figures | undefined>(undefined)
  const marks = useSignal<readonly number[]>([])
  const problem = useSignal<string | undefined>(undefined)
  const Drawing = useSignal<FunctionComponent<ChartProps> | undefined>(undefined)
  const canvas = useSignal<HTMLCanvasElement | undefined>(undefined)
  const metrics = charts.find(({ title }) => title === chosen.value)?.metrics ?? []
  const seconds = RANGES.find(([one]) => one === range.value)?.[1] ?? 3600
  const path =
    layer === 'layer7'
      ? `/${self()}/layer7proxy/stats/${kind}/${id}/history`
      : `/ipvsDirector/stats/${kind}/${id}/history`
  useEffect(() => {
    void import('./chart.tsx').then(
      ({ Chart }) => (Drawing.value = Chart),
      () => (problem.value = t('This page could not be loaded.')),
    )
  }, [])
  useEffect(() => {
    // An answer for an earlier choice may arrive late, and is dropped.
    let isOver = false
    const load = async () => {
      const end = Math.floor(daemonNow_ms() / 1000)
      const ask = (from: number, to: number) =>
        figuresOf(path, { start: from, end: to, points: POINTS, metrics: metrics.join(',') })
      try {
        const come = await ask(end - seconds, end)
        const earlier = compares.value ? await ask(end - seconds - WEEK_S, end - WEEK_S) : undefined
        if (isOver) return
        now.value = come
        before.value = earlier
        problem.value = undefined
      } catch (error) {
        if (!isOver) problem.value = error instanceof Error ? error.message : String(error)
      }
    }
    void load()
    void read<readonly Revision[]>('/revisions', { limit: 100 }).then(
      (all) => (marks.value = all.map(({ at }) => Date.parse(at) / 1000)),
      () => undefined,
    )
    const timer = setInterval(() => void load(), seconds > 3600 ? 60_000 : 5_000)
    return () => {
      isOver = true
      clearInterval(timer)
    }
  }, [path, chosen.value, range.value, compares.value])
  const lines = useMemo((): readonly Line[] => {
    const { times = [], series = {} } = now.value ?? {}
    const old = before.value
    const named = (metric: string) => t(NAMES[metric] ?? metric)
    return [
      ...metrics.map((metric) => ({ label: named(metric), values: series[metric] ?? [], isDashed: false })),
      ...metrics.flatMap((metric) =>
        old === undefined
          ? []
          : {
              label: `${named(metric)} (${t('one week earlier')})`,
              values: valuesBefore(times, WEEK_S, old, old.series[metric] ?? []),
              isDashed: true,
            },
      ),
    ]
  }, [now.value, before.value])
  const Shown = Drawing.value
  return (
    <Card
      title={t('History of {name}', { name })}
      more={
        <>
          <Button kind="quiet" icon="save" onClick={() => saveCsv(name, now.value)}>
            CSV
          </Button>
          <Button kind="quiet" icon="save" onClick={() => savePng(name, canvas.value)}>
            PNG
          </Button>
        </>
      }
    >
      <div class="chart-bar">
        <Choice
          label={t('Figures')}
          value={chosen.value}
          options={charts.map(({ title }) => [title, t(title)])}
          onChange={(next) => (chosen.value = next)}
        />
        <Choice
          label={t('Range')}
          value={range.value}
          options={RANGES.map(([one]) => [one, t(one)])}
          onChange={(next) => (range.value = next)}
        />
        <label class="inline">
          <input
            type="checkbox"
            checked={compares.value}
            onChange={(event) => (compares.value = event.currentTarget.checked)}
          />{' '}
          {t('Compare with last week')}
        </label>
      </div>
      <Problem text={problem.value} />
      {Shown === undefined || now.value === undefined ? (
        problem.value === undefined ? (
          <Loading />
        ) : null
      ) : (
        <Shown times={now.value.times} lines={lines} marks={marks.value} onReady={(drawn) => (canvas.value = drawn)} />
      )}
      {lines.some(({ values }) => values.includes(null)) ? (
        <p class="hint">{t('Hatched: no data. Dashed line: an apply.')}</p>
      ) : null}
    </Card>
  )
}

/** Spreadsheets treat a cell that begins with one of these characters as a formula. */
const cell = (text: string): string => (/^[=+\-@]/.test(text) ? `'${text}` : text)

function saveCsv(name: string, figures: Figures | undefined): void {
  if (figures === undefined) return
  const metrics = Object.keys(figures.series)
  const rows = figures.times.map((time, at) => [
    moment(time * 1000),
    ...metrics.map((metric) => String(figures.series[metric]?.[at] ?? '')),
  ])
  const text = [['time', ...metrics], ...rows]
    .map((row) => row.map((one) => `"${cell(one).replaceAll('"', '""')}"`).join(','))
    .join('\n')
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  saveFile(`${name}.csv`, url)
  URL.revokeObjectURL(url)
}

function savePng(name: string, canvas: HTMLCanvasElement | undefined): void {
  if (canvas !== undefined) saveFile(`${name}.png`, canvas.toDataURL('image/png'))
}
