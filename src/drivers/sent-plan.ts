import { isLong, joinParts } from '../base/long-texts.ts'
import { inTurns } from '../base/turns.ts'
import type { CheckStep, ReplaceFileStep, Step } from './driver.ts'

/** In UTF-16 units, encoded in one go: some tenths of a millisecond. */
const PORTION = 512 * 1_024

/** Steps in transit to another thread. */
export interface SentPlan {
  /** Steps without their long contents. */
  readonly steps: readonly Step[]
  readonly long: readonly LongContent[]
}

interface LongContent {
  /** Indices of the steps with this content. */
  readonly at: readonly number[]
  /** UTF-8, in shared memory. */
  readonly bytes: Uint8Array
}

type WithContent = CheckStep | ReplaceFileStep

/**
 * A message is copied while the sending thread is blocked: 30 ms for the configuration of 100,000 servers, which a plan
 * contains twice. So a long text is put into shared memory once, in portions, while the event loop keeps running.
 */
export async function sentPlan(steps: readonly Step[]): Promise<SentPlan> {
  const places = new Map<string, number[]>()
  for (const [at, step] of steps.entries()) {
    if (!hasContent(step) || !isLong(step.content)) continue
    const known = places.get(step.content)
    if (known === undefined) places.set(step.content, [at])
    else known.push(at)
  }
  if (places.size === 0) return { steps, long: [] }
  const long: LongContent[] = []
  for (const [content, at] of places) long.push({ at, bytes: await sharedBytes(content) })
  return { steps: withContents(steps, new Map(long.flatMap(({ at }) => at.map((one) => [one, ''])))), long }
}

/** Restores the original steps. */
export function receivedPlan({ steps, long }: SentPlan): readonly Step[] {
  if (long.length === 0) return steps
  const contents = new Map<number, string>()
  for (const { at, bytes } of long) {
    const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
    for (const one of at) contents.set(one, content)
  }
  return withContents(steps, contents)
}

async function sharedBytes(text: string): Promise<Uint8Array> {
  await joinParts(text)
  const bytes = Buffer.from(new SharedArrayBuffer(Buffer.byteLength(text)))
  let written = 0
  await inTurns(portionsOf(text), (portion) => {
    written += bytes.write(portion, written)
  })
  return new Uint8Array(bytes.buffer)
}

function* portionsOf(text: string): Generator<string> {
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = from + PORTION
    // Keeps surrogate pairs together.
    if (isFirstOfTwo(text.charCodeAt(to - 1)) && isSecondOfTwo(text.charCodeAt(to))) to += 1
    yield text.slice(from, to)
  }
}

const isFirstOfTwo = (unit: number) => unit >= 0xd8_00 && unit <= 0xdb_ff
const isSecondOfTwo = (unit: number) => unit >= 0xdc_00 && unit <= 0xdf_ff

const hasContent = (step: Step): step is WithContent => step.kind === 'check' || step.kind === 'replaceFile'

const withContents = (steps: readonly Step[], contents: ReadonlyMap<number, string>): readonly Step[] =>
  steps.map((step, at) => {
    const content = contents.get(at)
    return content !== undefined && hasContent(step) ? { ...step, content } : step
  })
