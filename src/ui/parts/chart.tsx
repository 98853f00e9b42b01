import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import { day, hour, moment, short, t } from '../core/text.ts'

/** The drawing itself, which is loaded when a chart is first shown. */

export interface Line {
  readonly label: string
  readonly values: readonly (number | null)[]
  readonly isDashed?: boolean
}

export interface ChartProps {
  /** Seconds since the epoch, one per value. */
  readonly times: readonly number[]
  readonly lines: readonly Line[]
  /** Times of applies, drawn as vertical lines. */
  readonly marks: readonly number[]
  readonly onReady?: (canvas: HTMLCanvasElement) => void
}

const HEIGHT = 240

/** Returns a colour of the page for a canvas, resolved for the present theme. */
function styleOf(name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

const DAY_S = 86_400
/** Labels with the hour up to two days, with the day beyond. */
const timesOf = (_plot: uPlot, places: number[]): string[] => {
  const isLong = (places.at(-1) ?? 0) - (places[0] ?? 0) > 2 * DAY_S
  return places.map((place) => (isLong ? day(place * 1000) : hour(place * 1000)))
}

/** Hatches the background where values are unknown: a gap is not a zero. */
function hatchGaps(plot: uPlot, lines: readonly Line[]): void {
  const { ctx, data, bbox } = plot
  const times = data[0]
  const [first] = lines
  if (first === undefined) return
  ctx.save()
  ctx.strokeStyle = styleOf('--edge')
  ctx.lineWidth = devicePixelRatio
  const step = (times[1] ?? 0) - (times[0] ?? 0)
  for (let at = 0; at < times.length; at++) {
    if (first.values[at] !== null) continue
    const begin = at
    while (at < times.length && first.values[at] === null) at++
    const [from, to] = [
      plot.valToPos(times[begin] ?? 0, 'x', true),
      plot.valToPos((times[at - 1] ?? 0) + step, 'x', true),
    ]
    ctx.save()
    ctx.beginPath()
    ctx.rect(from, bbox.top, Math.min(to, bbox.left + bbox.width) - from, bbox.height)
    ctx.clip()
    ctx.beginPath()
    const gap = 8 * devicePixelRatio
    for (let x = from - bbox.height; x < to; x += gap) {
      ctx.moveTo(x, bbox.top + bbox.height)
      ctx.lineTo(x + bbox.height, bbox.top)
    }
    ctx.stroke()
    ctx.restore()
  }
  ctx.restore()
}

function drawMarks(plot: uPlot, marks: readonly number[]): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.strokeStyle = styleOf('--accent')
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio])
  for (const mark of marks) {
    const x = plot.valToPos(mark, 'x', true)
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
  }
  ctx.restore()
}

export function Chart({ times, lines, marks, onReady }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const parent = box.current
    if (parent === null) return undefined
    const axis = {
      stroke: styleOf('--quiet'),
      grid: { stroke: styleOf('--edge'), width: 1 },
      ticks: { stroke: styleOf('--edge') },
    }
    const plot = new uPlot(
      {
        width: parent.clientWidth,
        height: HEIGHT,
        cursor: { points: { size: 6 } },
        axes: [
          { ...axis, space: 90, values: timesOf },
          { ...axis, size: 56, values: (_plot, values) => values.map((value) => short(value)) },
        ],
        series: [
          {
            label: t('Time'),
            value: (_plot: uPlot, value: number | null) => (value === null ? '–' : moment(value * 1000)),
          },
          ...lines.map(({ label, isDashed = false }, at) => ({
            label,
            stroke: styleOf(`--line-${(at % 4) + 1}`),
            width: 1.5,
            ...(isDashed ? { dash: [4, 4] } : {}),
            value: (_plot: uPlot, value: number | null) => short(value),
          })),
        ],
        hooks: {
          drawClear: [(drawn) => hatchGaps(drawn, lines)],
          draw: [(drawn) => drawMarks(drawn, marks)],
        },
      },
      [[...times], ...lines.map(({ values }) => [...values])],
      parent,
    )
    onReady?.(plot.ctx.canvas)
    const watch = new ResizeObserver(() => plot.setSize({ width: parent.clientWidth, height: HEIGHT }))
    watch.observe(parent)
    return () => {
      watch.disconnect()
      plot.destroy()
    }
  }, [times, lines, marks])
  return <div class="chart" ref={box} />
}
