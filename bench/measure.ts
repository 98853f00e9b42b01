/** Numbers and tables for all benchmarks. */

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}

export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN
}

/** Formats "12.3 (11.9–14.0)": the median and the range. */
export function spread(values: readonly number[], digits = 1): string {
  const [low, high] = [Math.min(...values), Math.max(...values)]
  return `${median(values).toFixed(digits)} (${low.toFixed(digits)}–${high.toFixed(digits)})`
}

/** Formats "81,234": a rate without decimals. */
export const whole = (value: number) => Math.round(value).toLocaleString('en')

/** Prints a Markdown table that can be pasted into docs/benchmarks.md. */
export function table(title: string, head: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  console.log(`\n### ${title}\n\n${line(head)}\n${line(head.map(() => '---'))}\n${rows.map(line).join('\n')}`)
}

/** Returns the processor milliseconds of this process, its threads included. */
export function processorTime_ms(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

export async function timed(work: () => unknown): Promise<number> {
  const began_ms = performance.now()
  await work()
  return performance.now() - began_ms
}
