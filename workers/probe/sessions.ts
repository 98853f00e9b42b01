import type { OpenSessions } from '../../src/model/machine-facts.ts'
import { exchangeWithRetry, isAbsent } from '../archive/exchange.ts'

const TIMEOUT_MS = 5000
/** `show stat` of frontends only. */
const REQUEST = 'show stat -1 1 -1\n'

/** Returns the current connections of these HAProxy frontends. */
export async function readSessions(
  path: string,
  frontends: readonly string[],
  timeout_ms = TIMEOUT_MS,
): Promise<OpenSessions> {
  try {
    const answer = await exchangeWithRetry({ path }, REQUEST, timeout_ms)
    return countSessions(Buffer.from(answer).toString(), frontends)
  } catch (error) {
    return isAbsent(error) ? 'not running' : undefined
  }
}

export function countSessions(csv: string, frontends: readonly string[]): number {
  const [header = '', ...rows] = csv.split('\n')
  const columns = header.replace(/^# /, '').split(',')
  const [name, sessions] = [columns.indexOf('pxname'), columns.indexOf('scur')]
  return rows
    .map((row) => row.split(','))
    .filter((row) => frontends.includes(row[name] ?? ''))
    .reduce((total, row) => total + (Number(row[sessions]) || 0), 0)
}
