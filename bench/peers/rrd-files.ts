import { TIERS } from '../../storage/archive/tiers.ts'
import { type DataSet, METRIC_NAMES, type SampledObject, type Totals, valueAt } from './data-set.ts'
import { PipeProgram } from './pipe-queries.ts'
import { TotalsBuilder } from './totals.ts'
import type { Query } from './windows.ts'

const UPDATES_PER_COMMAND = 400

/** Starts `rrdtool -`, which reads commands from its input and ends each answer with a line of `OK` or `ERROR`. */
export function startRrdtool(program: string, folder: string): PipeProgram {
  return new PipeProgram(program, ['-', folder], endsWithStatus)
}

/** Returns the answer to one command; throws if it is refused. */
export async function command(pipe: PipeProgram, line: string): Promise<string> {
  const answer = (await pipe.ask(`${line}\n`)).toString()
  if (answer.startsWith('ERROR')) throw new Error(`rrdtool ${line.slice(0, 200)}: ${answer}`)
  return answer
}

function endsWithStatus(parts: readonly Buffer[]): boolean {
  const last = parts.at(-1)
  if (last === undefined || last.at(-1) !== 0x0a) return false
  const tail = Buffer.concat(parts.slice(-2)).subarray(-200).toString('latin1')
  const line = tail.slice(tail.lastIndexOf('\n', tail.length - 2) + 1)
  return line.startsWith('OK ') || line.startsWith('ERROR')
}

/** Creates the tiers of the archive as rings of one file; the finest needs no minimum and maximum. */
export function createCommand(file: string, start_s: number, rowsMax = Number.POSITIVE_INFINITY): string {
  const sources = METRIC_NAMES.map((name) => `DS:${name}:GAUGE:1:0:U`)
  const rings = TIERS.flatMap(({ step_s, rows }) =>
    (step_s === 1 ? ['AVERAGE'] : ['AVERAGE', 'MIN', 'MAX']).map(
      (how) => `RRA:${how}:0.999999:${step_s}:${Math.min(rows, rowsMax)}`,
    ),
  )
  return `create ${file} --start ${start_s} --step 1 ${[...sources, ...rings].join(' ')}`
}

/** A second's value is reported at its end. */
export function updateWord(object: Pick<SampledObject, 'index' | 'busy'>, second: number): string {
  return `${second + 1}:${METRIC_NAMES.map((_, metric) => valueAt(object, metric, second)).join(':')}`
}

export async function fillFile(pipe: PipeProgram, data: DataSet, object: SampledObject): Promise<void> {
  const file = `${object.name}.rrd`
  await command(pipe, createCommand(file, data.end_s - object.history_s - object.every_s))
  const words: string[] = []
  let told_s = 0
  for (const second of data.seconds(object)) {
    // The time between such samples is unknown.
    if (object.every_s > 1) words.push(`${second}:U:U:U:U`)
    words.push(updateWord(object, second))
    told_s = second + 1
  }
  // rrdtool closes a bucket only when a later value arrives.
  if (told_s < data.end_s) words.push(`${data.end_s}:U:U:U:U`)
  for (let n = 0; n < words.length; n += UPDATES_PER_COMMAND) {
    await command(pipe, `update ${file} ${words.slice(n, n + UPDATES_PER_COMMAND).join(' ')}`)
  }
}

/** Adds rows of `time: value value value value`; other lines contain no values. */
export function addRows(text: string, totals: TotalsBuilder): void {
  for (const line of text.split('\n')) {
    const [, values] = /^\d+: +(.*)$/.exec(line) ?? []
    for (const [metric, value] of values?.trim().split(/\s+/).entries() ?? []) totals.add(metric, Number(value))
  }
}

/** rrdtool labels buckets by their end, and returns one more row if the end is a multiple of the step. */
export function fetchCommands({ objects, step_s, start_s, end_s }: Query): readonly string[] {
  return objects.map(({ name }) => `fetch ${name}.rrd AVERAGE -r ${step_s} -s ${start_s} -e ${end_s - 1}\n`)
}

export function totalsOf(answers: readonly string[]): Totals {
  const totals = new TotalsBuilder()
  for (const answer of answers) addRows(answer, totals)
  return totals
}
