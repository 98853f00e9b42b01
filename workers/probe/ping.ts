import type { PingResult } from '../../src/model/machine-facts.ts'
import type { Run } from '../host/managed-program.ts'

const COUNT = 3
/** Interval between requests; the smallest that ordinary accounts may use. */
const INTERVAL_S = 0.2
const ANSWER_TIMEOUT_S = 1
/** Time for the requests, the last answer, and the start of the program. */
const PROGRAM_TIMEOUT_MS = 5_000

export interface EchoRequests {
  /** Address, or name of the sending interface. */
  readonly from: string
  readonly to: string
  readonly count: number
}

/** Sends three echo requests; takes two seconds at most. */
export function ping(from: string, to: string, run: Run): Promise<PingResult> {
  return sendEchoes({ from, to, count: COUNT }, run)
}

export async function sendEchoes({ from, to, count }: EchoRequests, run: Run): Promise<PingResult> {
  const argv = ['ping', '-n', '-q', '-c', String(count), '-i', String(INTERVAL_S), '-W', String(ANSWER_TIMEOUT_S)]
  const { output } = await run([...argv, '-I', from, to], PROGRAM_TIMEOUT_MS)
  const [, sent = '0', received = '0'] = /(\d+) packets transmitted, (\d+) received/.exec(output) ?? []
  const average = /= [\d.]+\/([\d.]+)\//.exec(output)?.[1]
  const ok = Number(received) > 0
  return {
    ok,
    sent: Number(sent),
    received: Number(received),
    roundTrip_ms: average === undefined ? null : Number(average),
    reason: ok ? undefined : reasonOf(output),
  }
}

/** Returns the most informative line: the loss, or what prevented the requests. */
function reasonOf(output: string): string {
  const lines = output.split('\n').map((line) => line.trim())
  const loss = lines.find((line) => line.includes('packet loss'))
  const trouble = lines.find((line) => /^ping:|^From |not installed|did not end/.test(line))
  return trouble ?? loss ?? lines.find((line) => line !== '') ?? 'ping gave no output'
}
