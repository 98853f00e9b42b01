// Besides `linux-host.ts`, the only place that starts programs: this process runs beside the daemon, and needs their
// output while they run.
import { type ChildProcess, spawn } from 'node:child_process'
import { Readable } from 'node:stream'
import type { ProgramStep } from './plan.ts'

export interface Told {
  /** Called with each line of output. */
  readonly line: (text: string) => void
  /** Called with each line from descriptor 3. */
  readonly status: (text: string) => void
  /** Called with the whole standard output, if the step keeps it. */
  readonly output: (text: string) => void
}

const KILL_AFTER_MS = 30_000
const LAST_WORDS_MS = 1000

/** Runs a program to its end. Returns undefined, or why it failed. */
export function runToEnd(step: ProgramStep, told: Told): Promise<string | undefined> {
  const [program = '', ...args] = step.argv
  const child: ChildProcess = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe', 'pipe'] })
  // If no descriptors are left, the child has no streams, and fails a moment later.
  const [, out, err, status] = child.stdio ?? []
  const collected: string[] = []
  if (step.output === undefined) lines(out, told.line)
  else text(out)?.on('data', (chunk: string) => void collected.push(chunk))
  lines(err, told.line)
  lines(status, told.status)
  return new Promise((resolve) => {
    let isLate = false
    let kill: NodeJS.Timeout | undefined
    const timer = setTimeout(() => {
      isLate = true
      child.kill('SIGTERM')
      kill = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
    }, step.timeout_ms)
    let isOver = false
    const finish = (problem: string | undefined) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      clearTimeout(kill)
      if (step.output !== undefined) told.output(collected.join(''))
      resolve(isLate ? `${program} did not end within ${step.timeout_ms / 1000} s` : problem)
      for (const stream of [out, err, status]) stream?.destroy()
    }
    child.on('error', ({ message }) => finish(message))
    // A service started by a maintainer script may keep the output open for ever, so the wait is short.
    child.on('exit', (code, signal) => {
      const how = signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`
      const problem = code === 0 ? undefined : `${program} ${how}`
      setTimeout(() => finish(problem), LAST_WORDS_MS).unref()
      child.on('close', () => finish(problem))
    })
  })
}

type Stream = ChildProcess['stdio'][number] | undefined

function text(stream: Stream): Readable | undefined {
  return stream instanceof Readable ? stream.setEncoding('utf8') : undefined
}

function lines(stream: Stream, take: (line: string) => void): void {
  let rest = ''
  const whole = (line: string) => {
    if (line.trim() !== '') take(line)
  }
  text(stream)
    ?.on('data', (chunk: string) => {
      // A carriage return, as from a progress bar, ends a line as well.
      const parts = `${rest}${chunk}`.split(/[\r\n]+/)
      rest = parts.pop() ?? ''
      parts.forEach(whole)
    })
    .on('end', () => whole(rest))
}
