const [WIDTH, HEIGHT] = [120, 28] as const

/** A line of the latest values, without axes or labels, as the figure is beside it. */
export function Sparkline({ values, label }: { readonly values: readonly number[]; readonly label: string }) {
  const most = Math.max(...values, 1)
  const step = WIDTH / Math.max(values.length - 1, 1)
  const points = values.map(
    (value, at) => `${(at * step).toFixed(1)},${(HEIGHT - 2 - (value / most) * (HEIGHT - 4)).toFixed(1)}`,
  )
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {points.length < 2 ? null : (
        <>
          <polygon
            class="area"
            points={`0,${HEIGHT} ${points.join(' ')} ${((points.length - 1) * step).toFixed(1)},${HEIGHT}`}
          />
          <polyline points={points.join(' ')} />
        </>
      )}
    </svg>
  )
}
